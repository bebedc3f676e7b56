import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Result codes of SQLite; an extended one carries them in its last byte. */
const BUSY = 5
const CORRUPT = 11
const NOT_A_DATABASE = 26

/** What SQLite would take for the unfinished work of whatever store it finds beside them. */
const COMPANIONS = ['-wal', '-shm', '-journal']

/** A copy as of one moment, compact and on disk, while the service goes on. */
export function copySqlite(from: string, to: string): void {
  const connection = new DatabaseSync(from, { timeout: 10_000 })
  try {
    connection.prepare('vacuum into ?').run(to)
  } finally {
    connection.close()
  }
  chmodSync(to, 0o600)
  sync(to)
}

/**
 * Puts `draft` in the place of the store and keeps that as `kept`. Whenever the process dies, one whole store is there.
 * Throws StoreInUseError while somebody has the store open.
 */
export function replaceSqlite(path: string, draft: string, kept: string): void {
  sync(draft)
  if (existsSync(path)) {
    leaveWal(path)
    linkSync(path, kept)
  }
  // Of a damaged store, or of one that was deleted: replayed over the draft they would ruin it.
  for (const suffix of COMPANIONS) if (existsSync(path + suffix)) renameSync(path + suffix, kept + suffix)
  renameSync(draft, path)
  sync(dirname(path))
}

export class StoreInUseError extends Error {}

/** Takes what is in the write-ahead log into the file, which only the one who is alone with it can do, unless it is damaged. */
function leaveWal(path: string): void {
  const connection = new DatabaseSync(path)
  try {
    connection.exec('pragma journal_mode = delete')
  } catch (error) {
    const code = (error as { errcode?: number }).errcode ?? 0
    if ((code & 0xff) === BUSY) throw new StoreInUseError(`${path} is in use`)
    if (![CORRUPT, NOT_A_DATABASE].includes(code & 0xff)) throw error
  } finally {
    connection.close()
  }
}

/** A file's content, or a folder's list of names, survives a power cut after this. */
function sync(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
