import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { privateFolder } from './private-folder.ts'

const SQLITE_BUSY = 5

/**
 * Makes this the only service on a folder's SQLite store; returns what gives it up. The operating system holds the lock
 * for the process, so it ends with the process, however that ends. The command line does not ask for it.
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
      `another Moorage serves ${data}: stop it first, or give this one a folder of its own with --data; several on one store need PostgreSQL`,
      { cause: error },
    )
  }
  return () => {
    if (connection.isOpen) connection.close()
  }
}
