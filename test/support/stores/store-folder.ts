import { chmodSync, mkdtempSync, statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const IN_MEMORY = '/dev/shm'
/** More than the stores of all tests together ever take. */
const ROOM = 4 * 2 ** 30

/**
 * A folder for everything that one run of the tests stores. It is in memory if the system has room for it, because a
 * disk takes ten times as long to create and remove the thousand files of a PostgreSQL database.
 */
export function runFolder(): string {
  const folder = mkdtempSync(join(hasRoom() ? IN_MEMORY : tmpdir(), 'moorage-tests-'))
  // PostgreSQL's account has its folder inside.
  chmodSync(folder, 0o755)
  return folder
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY)
    return bavail * bsize >= ROOM
  } catch {
    return false
  }
}

/** A new folder for a store. A test file that runs alone has no run folder. */
export function storeFolder(name: string): Promise<string> {
  return mkdtemp(join(process.env['MOORAGE_TEST_FOLDER'] || tmpdir(), `moorage-${name}-`))
}
