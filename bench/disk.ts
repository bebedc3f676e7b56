import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** What a SQLite store takes on the disk, once everything in its journal has been moved into the file. */
export function storedBytes(data: string): number {
  const path = join(data, 'moorage.db')
  const connection = new DatabaseSync(path, { timeout: 5_000 })
  try {
    connection.exec('pragma wal_checkpoint(truncate)')
    return statSync(path).size + statSync(`${path}-wal`).size
  } finally {
    connection.close()
  }
}
