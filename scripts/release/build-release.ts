import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { notesOf } from './notes.ts'
import { sbomOf } from './sbom.ts'
import { filesIn, type Packed, tarGz } from './tar.ts'
import { versionOf, withoutVersion } from './versions.ts'

/** What is the same for all builds of a commit. */
export type Facts = { commit: string; version: string; epoch: number; repository: string | undefined }

type Environment = Readonly<Record<string, string | undefined>>

export function factsOf(root: string, env: Environment): Facts & { isChanged: boolean } {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const commit = git('rev-parse', 'HEAD')
  return {
    commit,
    version: versionOf(root),
    epoch: Number(env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct', commit)),
    repository: env['MOORAGE_REPOSITORY'],
    isChanged: git('status', '--porcelain') !== '',
  }
}

const OF_NPM = /^npm_(package|lifecycle|config_local_prefix|old|new)/

/**
 * Builds all files of a release of a commit into a folder that is empty. It builds what is committed, in a folder of its
 * own, with the packages that are installed here: nothing else of this machine can get into a release.
 */
export function buildRelease(
  root: string,
  target: string,
  facts: Facts,
  { label = 'a', timeZone = 'UTC' }: { label?: string; timeZone?: string } = {},
): void {
  const { commit, epoch } = facts
  const home = mkdtempSync(join(tmpdir(), `moorage-release-${label}-`))
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    SOURCE_DATE_EPOCH: String(epoch),
    MOORAGE_COMMIT: commit,
    TZ: timeZone,
    LC_ALL: 'C',
  }
  // npm sets these for what it runs: they are about this folder and not about the other one.
  for (const name of Object.keys(env)) if (OF_NPM.test(name)) delete env[name]
  const run = (program: string, args: string[], cwd?: string) =>
    execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  try {
    const source = join(home, 'moorage')
    mkdirSync(source)
    run('git', ['archive', '--format=tar', '--output', join(home, 'source.tar'), commit], root)
    run('tar', ['-xf', join(home, 'source.tar')], source)
    copyModules(join(root, 'node_modules'), join(source, 'node_modules'), run)
    const version = versionOf(source)
    const stale = withoutVersion(source, version)
    if (stale.length > 0) throw new Error(`These files don't contain the version ${version}: ${stale.join(', ')}`)
    mkdirSync(target, { recursive: true })
    run('npm', ['pack', '--pack-destination', target], source)
    run('npm', ['pack', './sdk', '--pack-destination', target], source)
    run('python3', ['-B', 'python/build_backend.py', target], source)
    const write = (name: string, content: string | Buffer) => writeFileSync(join(target, name), content)
    write(`moorage-chart-${version}.tgz`, tarGz(filesIn(source, 'deploy/helm/moorage', 'moorage'), epoch))
    write(`moorage-image-${version}.tar.gz`, tarGz(imageFiles(source, commit), epoch))
    write(`moorage-${version}.cdx.json`, `${JSON.stringify(sbomOf(source, { ...facts, version }), null, 2)}\n`)
    write('RELEASE-NOTES.md', notesOf(readFileSync(join(source, 'CHANGELOG.md'), 'utf8'), { ...facts, version }))
    write('SHA256SUMS', sumsOf(target))
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    if (stderr) console.error(`${stdout}${stderr}`)
    throw error
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** Hard links where the folders are on one disk: there are some 700 MB. */
function copyModules(from: string, to: string, run: (program: string, args: string[]) => string): void {
  const real = realpathSync(from)
  try {
    run('cp', ['-al', real, to])
  } catch {
    rmSync(to, { recursive: true, force: true })
    run('cp', ['-a', real, to])
  }
  // What compilers kept of other builds.
  rmSync(join(to, '.cache'), { recursive: true, force: true })
}

/** What the image is built from: the files that .dockerignore lets through, and the Dockerfile, which then knows the commit. */
function imageFiles(source: string, commit: string): Packed[] {
  const names = readFileSync(join(source, '.dockerignore'), 'utf8').match(/(?<=^!).+$/gm) ?? []
  const copied = names
    .flatMap((name) => filesIn(source, name, name))
    .filter(({ name }) => !name.startsWith('sdk/dist/'))
  const dockerfile = readFileSync(join(source, 'deploy/Dockerfile'), 'utf8')
  if (!dockerfile.includes('ARG REVISION=unknown\n')) throw new Error('deploy/Dockerfile has no ARG REVISION')
  const content = Buffer.from(dockerfile.replace('ARG REVISION=unknown\n', `ARG REVISION=${commit}\n`))
  return [...copied, { name: 'deploy/Dockerfile', content }, ...filesIn(source, '.dockerignore', '.dockerignore')]
}

function sumsOf(folder: string): string {
  const names = readdirSync(folder).toSorted()
  const sum = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  return names.map((name) => `${sum(name)}  ${name}\n`).join('')
}
