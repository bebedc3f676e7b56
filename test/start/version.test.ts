import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import project from '../../package.json' with { type: 'json' }
import { findVersion, versionText } from '../../src/lib/version.ts'

test('a clone has the commit of git, a package the one that it was built from, and a copy of the sources none', (t) => {
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
