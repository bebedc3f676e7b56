import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { privateFolder } from './private-files.ts'

const SQLITE_BUSY = 5
const LOCK_FILE = 'service.lock'

/**
 * Makes this process the only service that uses a folder's SQLite store. Returns a function that releases the lock. The
 * operating system releases the lock too when the process ends for any reason. The command line doesn't use it.
 */
export function lockFolder(data: string): () => void {
  privateFolder(data)
  const path = join(data, LOCK_FILE)
  const connection = new DatabaseSync(path, { timeout: 0 })
  try {
    connection.exec('begin exclusive')
    chmodSync(path, 0o600)
  } catch (error) {
    connection.close()
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    throw new Error(
      `another Moorage process is using ${data}. Stop it first, or choose another folder with --data; to run several on one database, use PostgreSQL`,
      { cause: error },
    )
  }
  return () => {
    if (connection.isOpen) connection.close()
  }
}

/** Whether a service uses the folder's SQLite store. This check changes nothing. */
export function isServed(data: string): boolean {
  const path = join(data, LOCK_FILE)
  if (!existsSync(path)) return false
  const connection = new DatabaseSync(path, { readOnly: true, timeout: 0 })
  try {
    connection.prepare('select 1 from sqlite_master').all()
    return false
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    return true
  } finally {
    connection.close()
  }
}
