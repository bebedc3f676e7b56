import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import project from '../../package.json' with { type: 'json' }

/** The version of this program. The commit is null if neither the build nor git knows it. */
export type ProgramVersion = { version: string; commit: string | null }

export const { version } = project

/** Contains both the sources and the build. */
const ROOT = new URL('../../', import.meta.url)

/** A clone asks git, because its commit changes without a build. A package or an image has the commit in a file. */
export function findVersion(root = ROOT): ProgramVersion {
  return { version, commit: existsSync(new URL('.git', root)) ? askGit(root) : readBuilt(root) }
}

/** Negative if the first version is older. A pre-release such as `1.0.0-rc.1` is older than its release. */
export function compareVersions(one: string, other: string): number {
  const [core = '', pre] = one.split(/-(.*)/s)
  const [otherCore = '', otherPre] = other.split(/-(.*)/s)
  const byCore = core.localeCompare(otherCore, 'en', { numeric: true })
  if (byCore !== 0 || pre === otherPre) return byCore
  if (pre === undefined) return 1
  return otherPre === undefined ? -1 : pre.localeCompare(otherPre, 'en', { numeric: true })
}

/** A version for people: `0.1.0 (97680915ab12)`. */
export function versionText(shown: ProgramVersion): string {
  return shown.commit === null ? shown.version : `${shown.version} (${shown.commit.slice(0, 12)})`
}

function askGit(root: URL): string | null {
  try {
    const cwd = fileURLToPath(root)
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd, encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    // Git isn't installed, or refuses a clone that belongs to another user.
    return null
  }
}

function readBuilt(root: URL): string | null {
  try {
    return readFileSync(new URL('dist/service/commit.txt', root), 'utf8').trim() || null
  } catch {
    return null
  }
}
