import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import project from '../../package.json' with { type: 'json' }
import { replaceVersion, VERSIONED, withoutVersion } from '../../scripts/release/versions.ts'
import { findVersion, versionText } from '../../src/lib/version.ts'

test("the version has git's commit in a clone, the build's commit in a package, and none in a copy of the sources", (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-version-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const root = pathToFileURL(`${folder}/`)
  assert.deepEqual(findVersion(root), { version: project.version, commit: null })

  mkdirSync(join(folder, 'dist/service'), { recursive: true })
  writeFileSync(join(folder, 'dist/service/commit.txt'), `${'ab'.repeat(20)}\n`)
  assert.equal(versionText(findVersion(root)), `${project.version} (abababababab)`)

  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
    })
  git('init', '-q')
  assert.equal(findVersion(root).commit, null, 'there is no commit yet')
  git('commit', '-q', '--allow-empty', '-m', 'one')
  assert.equal(findVersion(root).commit, git('rev-parse', 'HEAD').trim())
})

test('every file with the version has the current one, and `npm version` updates all of them', (t) => {
  const root = join(import.meta.dirname, '../..')
  assert.deepEqual(withoutVersion(root, project.version), [])
  const folder = mkdtempSync(join(tmpdir(), 'moorage-versions-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const file of VERSIONED) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    writeFileSync(join(folder, file), readFileSync(join(root, file)))
  }
  replaceVersion(folder, project.version, '7.8.9')
  assert.deepEqual(withoutVersion(folder, '7.8.9'), [])
  assert.equal(JSON.parse(readFileSync(join(folder, 'sdk/package.json'), 'utf8')).version, '7.8.9')
  assert.match(readFileSync(join(folder, 'python/pyproject.toml'), 'utf8'), /^version = "7\.8\.9"$/m)
  const chart = readFileSync(join(folder, 'deploy/helm/moorage/Chart.yaml'), 'utf8')
  assert.match(chart, /^version: 7\.8\.9\nappVersion: 7\.8\.9$/m)
  // A version of another package that only starts or ends like ours.
  assert.match(readFileSync(join(folder, 'deploy/Dockerfile'), 'utf8'), /^ARG NODE_IMAGE=node:26\.10\.0-slim$/m)
})
