// npm version 0.2.0: npm writes package.json and package-lock.json, and this the other files that name the version.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { replaceVersion, VERSIONED } from './release/versions.ts'

const root = dirname(import.meta.dirname)
const { npm_old_version: before, npm_new_version: now } = process.env
if (!before || !now) throw new Error('Run `npm version <version>`')
replaceVersion(root, before, now)
if (!new RegExp(`^## ${now.replaceAll('.', '\\.')}\\b`, 'm').test(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))) {
  console.error(`CHANGELOG.md has no section for ${now} yet.`)
}
execFileSync('git', ['add', ...VERSIONED], { cwd: root })
