import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { Engine } from '../database.ts'
import { connectAlone } from '../postgres/postgres.ts'
import { SERVING_NODES } from '../schema/consent.ts'
import { isServed } from '../sqlite/lock.ts'
import { isDamaged } from '../sqlite/sqlite-thread.ts'

/** A process that serves the store now. On SQLite, only the existence of the service is known. */
export type ServingNode = { node: string; version: string | null; commit: string | null }

/** A store of any version, which a service may be using. Reading it changes nothing. */
export type ReadOnlyStore = {
  engine: Engine
  /** The database's own name and version. */
  engineText: string
  rows(sql: string): Promise<Record<string, unknown>[]>
  hasTable(name: string): Promise<boolean>
  /** How many rows a table has, and its size on disk with its indexes. For a large table, both are estimates. */
  measure(table: string): Promise<{ rows: number; bytes: number }>
  serving(): Promise<ServingNode[]>
  /** Null if the disk belongs to another machine. */
  freeBytes: number | null
  close(): Promise<void>
}

/** The database can't be reached. */
export class StoreAwayError extends Error {}

/** Throws when the file is damaged. */
export async function openSqliteToRead(path: string): Promise<ReadOnlyStore> {
  const url = pathToFileURL(path)
  // Otherwise, SQLite would create files beside a store that it only reads.
  if (!existsSync(`${path}-wal`)) url.search = 'immutable=1'
  const connection = new DatabaseSync(url, { readOnly: true, timeout: 10_000 })
  const rows = (sql: string) => connection.prepare(sql).all() as Record<string, unknown>[]
  try {
    const [check] = rows('pragma quick_check(1)')
    if (check?.['quick_check'] !== 'ok') throw new Error(`${path} is damaged: ${check?.['quick_check']}`)
  } catch (error) {
    connection.close()
    throw isDamaged(error) ? new Error(`${path} is damaged: ${error.message}`, { cause: error }) : error
  }
  const data = dirname(path)
  const hasTable = async (name: string) => rows(`select 1 from sqlite_master where name = '${name}'`).length > 0
  const { bavail, bsize } = statfsSync(data)
  return {
    engine: 'sqlite',
    engineText: `SQLite ${rows('select sqlite_version() as version')[0]?.['version']}`,
    rows: async (sql) => rows(sql),
    hasTable,
    async measure(table) {
      const [counted] = rows(`select count(*) as rows from "${table}"`)
      const [stored] = rows(`select sum(pgsize) as bytes from dbstat where aggregate = 1
        and name in (select name from sqlite_master where tbl_name = '${table}')`)
      return { rows: Number(counted?.['rows']), bytes: Number(stored?.['bytes']) }
    },
    serving: async () => (isServed(data) ? [{ node: 'the running service', version: null, commit: null }] : []),
    freeBytes: bavail * bsize,
    close: async () => connection.close(),
  }
}

/** Above this number, PostgreSQL's own estimate is used, because counting takes long. */
const MANY_ROWS = 100_000

export async function openPostgresToRead(url: string): Promise<ReadOnlyStore> {
  const client = await connectAlone(url).catch((error: Error) => {
    throw new StoreAwayError(`PostgreSQL can't be reached: ${error.message}`, { cause: error })
  })
  const rows = async (sql: string): Promise<Record<string, unknown>[]> => (await client.query(sql)).rows
  // One snapshot of the database, in which no statement can write.
  await rows('begin isolation level repeatable read read only')
  const hasTable = async (name: string) => {
    const [found] = await rows(`select to_regclass('${name}') is not null as found`)
    return found?.['found'] === true
  }
  const [version] = await rows("select current_setting('server_version') as version")
  return {
    engine: 'postgres',
    engineText: `PostgreSQL ${version?.['version']}`,
    rows,
    hasTable,
    async measure(table) {
      const [told] = await rows(`select reltuples as rows, pg_total_relation_size(oid) as bytes
        from pg_class where oid = '${table}'::regclass`)
      const bytes = Number(told?.['bytes'])
      if (Number(told?.['rows']) > MANY_ROWS) return { rows: Math.round(Number(told?.['rows'])), bytes }
      const [counted] = await rows(`select count(*) as rows from ${table}`)
      return { rows: Number(counted?.['rows']), bytes }
    },
    async serving() {
      const nodes = (await hasTable('nodes')) ? await rows(SERVING_NODES) : []
      return nodes.map(({ node, version: own, commit }) => ({ node, version: own, commit }) as ServingNode)
    },
    freeBytes: null,
    close: () => client.end(),
  }
}
