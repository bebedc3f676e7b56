import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { connectAlone } from './postgres/postgres.ts'
import { isUnreleased, UNRELEASED } from './schema/released-migrations.ts'

/** What can be read from a store without opening it for use. Nothing is migrated or created. */
export type StoreFacts = {
  engine: string
  /** The number of migrations. Undefined if Moorage hasn't used the database yet. */
  schema_version: number | undefined
  /** The fingerprint of the master key that encrypts the store's secrets. */
  master_key: string | undefined
}

class DamagedStoreError extends Error {}

/** Inspects a store. Unless `isWhole` is set, reads every page of the file, which takes a while for a large file. */
export function inspectSqlite(path: string, { isWhole = false } = {}): StoreFacts {
  const connection = new DatabaseSync(path, { readOnly: true, timeout: 10_000 })
  try {
    const [check] = isWhole ? [{ integrity_check: 'ok' }] : connection.prepare('pragma integrity_check(1)').all()
    if (check?.integrity_check !== 'ok') throw new DamagedStoreError(`${path} is damaged: ${check?.integrity_check}`)
    const value = (sql: string) => connection.prepare(sql).get()?.value
    const has = (table: string) => value(`select 1 as value from sqlite_master where name = '${table}'`) === 1
    if (has('schema_version')) throw new Error(UNRELEASED)
    const hasTables = has('migrations')
    const migrations = hasTables ? connection.prepare('select name from migrations').all() : []
    return {
      engine: `SQLite ${value('select sqlite_version() as value')}`,
      schema_version: schemaVersion(migrations),
      master_key: hasTables ? (value("select value from settings where name = 'master_key'") as string) : undefined,
    }
  } finally {
    connection.close()
  }
}

/** Bytes that a store expects in its folder of files. */
export type ExpectedBytes = { id: string; sha256: string }

/** All bytes that the store in a backup expects in its folder of files. */
export function listExpectedBytes(path: string): ExpectedBytes[] {
  // The seal covers only this file, so SQLite must not read a log beside it.
  const url = pathToFileURL(path)
  url.search = 'immutable=1'
  const connection = new DatabaseSync(url, { readOnly: true })
  try {
    const rows = connection.prepare("select id, sha256 from blobs where state = 'kept' and kept_in = 'folder'").all()
    return rows.map(({ id, sha256 }) => ({ id: String(id), sha256: String(sha256) }))
  } finally {
    connection.close()
  }
}

export async function inspectPostgres(url: string): Promise<StoreFacts> {
  const client = await connectAlone(url)
  try {
    const value = async (sql: string) => (await client.query(sql)).rows[0]?.value
    const has = (table: string) => value(`select to_regclass('${table}') is not null as value`)
    if (await has('schema_version')) throw new Error(UNRELEASED)
    const hasTables = await has('migrations')
    const migrations = hasTables ? (await client.query('select name from migrations')).rows : []
    return {
      engine: `PostgreSQL ${await value("select current_setting('server_version') as value")}`,
      schema_version: schemaVersion(migrations),
      master_key: hasTables ? await value("select value from settings where name = 'master_key'") : undefined,
    }
  } finally {
    await client.end()
  }
}

function schemaVersion(migrations: { name?: unknown }[]): number | undefined {
  if (isUnreleased(migrations.map(({ name }) => String(name)))) throw new Error(UNRELEASED)
  return migrations.length || undefined
}
