import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { privateFolder } from './private-files.ts'

const SQLITE_BUSY = 5

/**
 * Makes this process the only service on the SQLite store of a folder. Returns a function that gives the lock back. The
 * operating system frees the lock when the process ends, in whatever way. The command line does not use it.
 */
export function lockFolder(data: string): () => void {
  privateFolder(data)
  const path = join(data, 'service.lock')
  const connection = new DatabaseSync(path, { timeout: 0 })
  try {
    connection.exec('begin exclusive')
    chmodSync(path, 0o600)
  } catch (error) {
    connection.close()
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    throw new Error(
      `another Moorage uses ${data}. Stop it first, or choose another folder with --data; to run several on one database, use PostgreSQL`,
      { cause: error },
    )
  }
  return () => {
    if (connection.isOpen) connection.close()
  }
}
