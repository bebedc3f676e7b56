import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import project from '../../../package.json' with { type: 'json' }
import { bundledIn, type Sbom } from '../../../scripts/release/sbom.ts'
import { instructionsOf, run } from '../../support/house/deploy-files.ts'
import { ROOT } from '../../support/house/docs.ts'
import { copyInstalled } from '../../support/house/installed.ts'
import { childEnv } from '../../support/service/child.ts'

const root = fileURLToPath(ROOT)
const { version } = project

/** What the artefacts may have, by the folders of their files. */
const MAY_HAVE: Record<string, RegExp> = {
  [`moorage-${version}.tgz`]:
    /^package\/(bin\/moorage\.js|(dist\/service|dist\/console(\/assets)?|docs(\/decisions|\/internals)?)\/[^/]+|scripts\/(install|launch|run-child)\.mjs|deploy\/grafana\/moorage\.json|package\.json|README\.md|CHANGELOG\.md|LICENSE)$/,
  [`moorage-sdk-${version}.tgz`]: /^package\/(dist\/[\w-]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/,
  [`moorage-${version}.tar.gz`]:
    /^moorage-[\d.]+\/(moorage\/(\w+\.py|py\.typed)|LICENSE|PKG-INFO|README\.md|pyproject\.toml|build_backend\.py)$/,
  [`moorage-chart-${version}.tgz`]:
    /^moorage\/(Chart\.yaml|values\.yaml|values\.schema\.json|\.helmignore|templates\/[\w-]+\.(yaml|tpl|txt)|files\/[\w.-]+\.yaml)$/,
  [`moorage-image-${version}.tar.gz`]:
    /^(\.dockerignore|\.npmrc|LICENSE|package(-lock)?\.json|bin\/.+|console\/.+|gallery\/.+|scripts\/.+|sdk\/.+|src\/.+|deploy\/Dockerfile)$/,
}

/** What no artefact may contain: where it was built, and secrets. */
const FORBIDDEN = [
  new RegExp(root.replace(/\/$/, '').replaceAll('/', '\\/')),
  new RegExp(`${tmpdir()}/moorage-release`),
  /moorage-release-[\w-]+\/moorage/,
  /-----BEGIN (RSA |EC )?PRIVATE KEY-----\n[\w+/]/,
  /\bmrg_[A-Za-z0-9]{24}/,
  /\bwhsec_[A-Za-z0-9+/]{40,}=/,
  /\bsk-[A-Za-z0-9]{20,}/,
  /_authToken=/,
]

const isText = (file: string) => !/\.(png|woff2?|bin)$/.test(file)

describe('npm run release', () => {
  let folder: string
  let printed: string
  const unpacked = (name: string) => join(folder, 'unpacked', name)
  const filesOf = (name: string) =>
    readdirSync(unpacked(name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(unpacked(name).length + 1))
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moorage-artefacts-'))
    const home = mkdtempSync(join(folder, 'home-'))
    const target = join(folder, 'release')
    const env = { ...childEnv(), HOME: home, npm_config_cache: join(home, 'cache') }
    const args = [join(root, 'scripts/release.mjs'), target, '--verify']
    printed = (await run(process.execPath, args, { cwd: root, env })).stdout
    for (const name of readdirSync(target).filter((file) => /\.(tgz|tar\.gz)$/.test(file))) {
      mkdirSync(unpacked(name), { recursive: true })
      await run('tar', ['-xzf', join(target, name), '-C', unpacked(name)])
    }
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test('builds the same bytes twice, and everything that a release has', () => {
    assert.match(printed, /The two builds are byte-identical\./)
    assert.deepEqual(readdirSync(join(folder, 'release')).toSorted(), [
      'RELEASE-NOTES.md',
      'SHA256SUMS',
      `moorage-${version}-py3-none-any.whl`,
      `moorage-${version}.cdx.json`,
      `moorage-${version}.tar.gz`,
      `moorage-${version}.tgz`,
      `moorage-chart-${version}.tgz`,
      `moorage-image-${version}.tar.gz`,
      `moorage-sdk-${version}.tgz`,
    ])
    const sums = readFileSync(join(folder, 'release/SHA256SUMS'), 'utf8').trim().split('\n')
    assert.equal(sums.length, 8)
    for (const [sum, name = ''] of sums.map((line) => line.split('  '))) {
      const bytes = readFileSync(join(folder, 'release', name))
      assert.equal(createHash('sha256').update(bytes).digest('hex'), sum, name)
    }
  })

  for (const [name, may] of Object.entries(MAY_HAVE)) {
    test(`${name} has what it should and nothing else`, () => {
      const files = filesOf(name)
      assert.deepEqual(
        files.filter((file) => !may.test(file)),
        [],
      )
      assert.ok(files.length >= 12, `${files.length} files`)
      const found = files.filter(isText).flatMap((file) => {
        const text = readFileSync(join(unpacked(name), file), 'utf8')
        // The secret with which readers of this page test their code.
        if (file === 'package/docs/webhooks.md') return []
        return FORBIDDEN.flatMap((one) => (one.test(text) ? [`${file}: ${one.exec(text)?.[0].slice(0, 60)}`] : []))
      })
      assert.deepEqual(found, [])
      for (const map of files.filter((file) => file.endsWith('.map'))) {
        assert.ok(!('sourcesContent' in JSON.parse(readFileSync(join(unpacked(name), map), 'utf8'))), map)
      }
    })
  }

  test('the image has what its Dockerfile copies, and knows the commit', async () => {
    const context = unpacked(`moorage-image-${version}.tar.gz`)
    const instructions = instructionsOf(readFileSync(join(context, 'deploy/Dockerfile'), 'utf8'))
    const copied = instructions.filter(({ name, value }) => name === 'COPY' && !value.includes('--from='))
    const sources = copied.flatMap(({ value }) => value.split(/\s+/).slice(0, -1))
    assert.ok(sources.length > 5)
    for (const source of sources) assert.ok(existsSync(join(context, source)), source)
    const { stdout } = await run('git', ['rev-parse', 'HEAD'], { cwd: root })
    assert.ok(instructions.some(({ name, value }) => name === 'ARG' && value === `REVISION=${stdout.trim()}`))
  })

  test('the chart is the one that test/whole/helm.test.ts renders', () => {
    const name = `moorage-chart-${version}.tgz`
    const sources = join(root, 'deploy/helm/moorage')
    const entries = readdirSync(sources, { recursive: true, withFileTypes: true })
    // The alert rules are a link to those of deploy/prometheus: the package has their content.
    const files = entries.filter((entry) => !entry.isDirectory())
    assert.equal(filesOf(name).length, files.length)
    for (const file of filesOf(name)) {
      const source = readFileSync(join(sources, file.replace(/^moorage\//, '')), 'utf8')
      assert.equal(readFileSync(join(unpacked(name), file), 'utf8'), source, file)
    }
  })

  test('the SBOM names every package that is installed or built in, with its version, and no other', async () => {
    const packed = unpacked(`moorage-${version}.tgz`)
    const sbom: Sbom = JSON.parse(readFileSync(join(folder, 'release', `moorage-${version}.cdx.json`), 'utf8'))
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    writeFileSync(join(empty, 'package.json'), '{}')
    copyInstalled(empty)
    const options = ['--offline', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const env = { ...childEnv(), HOME: join(folder, 'home-of-npm') }
    await run('npm', ['install', ...options, join(folder, 'release', `moorage-${version}.tgz`)], { cwd: empty, env })
    const lock = JSON.parse(readFileSync(join(empty, 'node_modules/.package-lock.json'), 'utf8'))
    const installed = Object.entries<{ version: string }>(lock.packages).map(
      ([path, about]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${about.version}`,
    )
    const bundled = ['service', 'console'].flatMap((part) =>
      bundledIn(readFileSync(join(packed, 'package/dist', part, 'LICENSES.txt'), 'utf8')),
    )
    assert.ok(bundled.includes(`preact@${project.devDependencies.preact}`) && installed.length > 40)
    // Of these npm installs at most one, the one for the machine.
    const ofMachines = Object.entries(project.optionalDependencies).map(([name, its]) => `${name}@${its}`)
    const own = [`moorage@${version}`, `moorage-sdk@${version}`]
    const shipped = new Set([...installed, ...bundled, ...ofMachines, ...own])
    const named = sbom.components.map((one) => `${one.name}@${one.version}`)
    // pg's package for Cloudflare is an optional one, too, and installed everywhere.
    const optional = named.filter((one) => one.startsWith('pg-cloudflare@'))
    assert.deepEqual([...new Set(named)].toSorted(), [...new Set([...shipped, ...optional])].toSorted())
    for (const { name, licenses, hashes, purl } of sbom.components) {
      assert.ok(licenses.length > 0, name)
      assert.ok(purl.startsWith('pkg:npm/moorage') || purl === `pkg:pypi/moorage@${version}` || hashes?.[0], name)
    }
  })

  test('the notes are the version’s part of the changelog, and lead nowhere', () => {
    const notes = readFileSync(join(folder, 'release/RELEASE-NOTES.md'), 'utf8')
    const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    const [, part = ''] = changelog.split(/^## .*$/m)
    const entries = [...part.matchAll(/^- (.{30})/gm)].map(([, start = '']) => start)
    assert.ok(entries.length > 20)
    for (const entry of entries) assert.ok(notes.includes(entry), entry)
    assert.doesNotMatch(notes, /\]\((?!https?:)/)
  })
})
