import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BY_RESTORE, SERVICE_PAUSE } from './queries/paused-projects.ts'
import { isDamaged } from './sqlite/sqlite-thread.ts'

/** A SQLite result code. The last byte of an extended code contains it. */
const BUSY = 5

/** The suffixes of files beside a store that SQLite would treat as unfinished work. */
const COMPANIONS = ['-wal', '-shm', '-journal']

/** Makes a compact copy of the store as it is at one moment, and syncs it to disk. The service can keep working. */
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
 * Replaces the store with `draft` and keeps the old store as `kept`. If the process dies at any point, one complete
 * store is still in place. Throws StoreInUseError while another process has the store open.
 */
export function replaceSqlite(path: string, draft: string, kept: string): void {
  sync(draft)
  leaveWal(path)
  if (existsSync(path)) linkSync(path, kept)
  // These files belong to a damaged or deleted store. SQLite would apply them to the draft and damage it.
  for (const suffix of COMPANIONS) if (existsSync(path + suffix)) renameSync(path + suffix, kept + suffix)
  renameSync(draft, path)
  sync(dirname(path))
}

/** Pauses the service of a store that no service uses yet, unless it is already paused. */
export function pauseSqlite(path: string, reason: string, now: number): void {
  const connection = new DatabaseSync(path)
  try {
    const pause = connection.prepare(
      'insert into pauses (scope, project_id, reason, paused_by, paused_at) values (?, null, ?, ?, ?) on conflict (scope) do nothing',
    )
    pause.run(SERVICE_PAUSE, reason, BY_RESTORE, now)
  } finally {
    connection.close()
  }
}

export class StoreInUseError extends Error {}

/**
 * Moves the content of the write-ahead log into the file. SQLite allows this only while no other process has the store
 * open; otherwise, this throws StoreInUseError. A damaged store is left unchanged.
 */
export function leaveWal(path: string): void {
  if (!existsSync(path)) return
  const connection = new DatabaseSync(path)
  try {
    connection.exec('pragma journal_mode = delete')
  } catch (error) {
    const code = (error as { errcode?: number }).errcode ?? 0
    if ((code & 0xff) === BUSY) throw new StoreInUseError(`${path} is in use`)
    if (!isDamaged(error)) throw error
  } finally {
    connection.close()
  }
}

/** Makes sure that a file's content, or a folder's list of names, survives a power failure. */
function sync(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
