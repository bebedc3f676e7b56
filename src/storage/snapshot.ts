import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type CompiledQuery, Kysely, type RawBuilder, SqliteDialect, sql } from 'kysely'
import type { Database } from './database.ts'
import type { Storage } from './open-storage.ts'
import type { Tables } from './tables.ts'

/** The store as it was at one moment, no matter how long reading it takes. */
export type StoreSnapshot = {
  db: Database
  /**
   * Yields the rows of a query in batches. If no index has their order, the database sorts them, on its disk if there
   * are many. Only one query can run at a time.
   */
  stream<Row>(query: RawBuilder<Row>): AsyncGenerator<Row[]>
  close(): Promise<void>
}

const ROWS_AT_ONCE = 500

/**
 * Opens a snapshot of a store that others keep writing to. Close it soon, because it prevents PostgreSQL from vacuuming
 * and SQLite from truncating its write-ahead log. On SQLite, reading it blocks this process.
 */
export async function openSnapshot(
  { engine, db }: Pick<Storage, 'engine' | 'db'>,
  data: string,
): Promise<StoreSnapshot> {
  if (engine === 'sqlite') return openFile(join(data, 'moorage.db'))
  const snapshot = await db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute()
  // PostgreSQL takes the snapshot with the first statement.
  await snapshot.selectFrom('settings').select('name').limit(1).execute()
  return {
    db: snapshot,
    async *stream<Row>(query: RawBuilder<Row>) {
      await sql`declare streamed no scroll cursor for ${query}`.execute(snapshot)
      for (;;) {
        const { rows } = await sql<Row>`fetch ${sql.lit(ROWS_AT_ONCE)} from streamed`.execute(snapshot)
        if (rows.length > 0) yield rows
        if (rows.length < ROWS_AT_ONCE) break
      }
      await sql`close streamed`.execute(snapshot)
    },
    async close() {
      await snapshot.rollback().execute()
    },
  }
}

async function openFile(path: string): Promise<StoreSnapshot> {
  if (!existsSync(path)) throw new Error(`${path} does not exist`)
  const connection = new DatabaseSync(path, { readOnly: true, timeout: 10_000 })
  connection.exec('begin')
  connection.prepare('select name from settings limit 1').all()
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({
      database: {
        close: () => connection.close(),
        prepare(text) {
          const statement = connection.prepare(text)
          return {
            reader: true,
            all: (parameters) => statement.all(...(parameters as never[])),
            run: () => refuse(),
            iterate: (parameters) => statement.iterate(...(parameters as never[])),
          }
        },
      },
    }),
  })
  return {
    db,
    async *stream<Row>(query: RawBuilder<Row>) {
      const { sql: text, parameters }: CompiledQuery = query.compile(db)
      let rows: Row[] = []
      for (const row of connection.prepare(text).iterate(...(parameters as never[]))) {
        rows.push(row as Row)
        if (rows.length < ROWS_AT_ONCE) continue
        yield rows
        rows = []
      }
      if (rows.length > 0) yield rows
    },
    async close() {
      await db.destroy()
      if (connection.isOpen) connection.close()
    },
  }
}

function refuse(): never {
  throw new Error('a snapshot is only read')
}
