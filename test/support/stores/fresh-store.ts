import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStorage } from '../../../src/storage/open-storage.ts'
import { type TestDatabase, testPostgres } from './postgres.ts'
import { storeFolder } from './store-folder.ts'

/** Brings an empty PostgreSQL database to the state in which services begin. */
const migrateDatabase = async (url: string) => {
  const storage = await openStorage({ data: '', database: { url, poolSize: 1 } })
  await storage.close()
}

/** An empty PostgreSQL database with all tables. The migrations ran once in this process, and this is a copy. */
export function freshPostgres(): Promise<TestDatabase> {
  return testPostgres(migrateDatabase)
}

let migratedFile: Promise<Buffer> | undefined

/** Creates a data folder with an empty SQLite store that has all tables, copied the same way. */
export async function freshSqlite(data: string): Promise<void> {
  migratedFile ??= migrateFile()
  await mkdir(data, { recursive: true, mode: 0o700 })
  await writeFile(join(data, 'moorage.db'), await migratedFile, { mode: 0o600 })
}

async function migrateFile(): Promise<Buffer> {
  const data = await storeFolder('test')
  const storage = await openStorage({ data, database: { poolSize: 1 } })
  await storage.close()
  const path = join(data, 'moorage.db')
  // If a connection that only reads was closed last, what was written is still in the write-ahead log.
  const database = new DatabaseSync(path)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
  const file = await readFile(path)
  await rm(data, { recursive: true })
  return file
}
