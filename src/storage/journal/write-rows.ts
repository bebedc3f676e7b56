import { CompiledQuery, type RawBuilder, type SqlBool, sql } from 'kysely'
import { wellFormedJson } from '../../lib/json.ts'
import { type Database, engineOf } from '../database.ts'
import { insertText } from '../postgres/postgres-write-batch.ts'
import { SqliteConnection } from '../sqlite/sqlite.ts'
import { insertStatement } from '../sqlite/sqlite-write-batch.ts'
import { batchOf, mergedRows, valuesOf } from './batch.ts'
import { type Batch, type BulkTable, type Row, type Write } from './rows.ts'

/** Writes what is normally an entry of the journal, inside the caller's transaction. */
export async function writeRows(db: Database, writes: Write[]): Promise<void> {
  await insertAll(db, batchOf([{ writes }]).inserts)
}

/**
 * Inserts many rows with one statement, inside the caller's transaction. They are merged if the table is a merged one.
 */
export async function insertMany(db: Database, into: BulkTable, rows: readonly Row[]): Promise<void> {
  if (rows.length > 0)
    await insertAll(db, [
      {
        into,
        rows: mergedRows(
          into,
          rows.map((row) => valuesOf(into, row)),
        ),
      },
    ])
}

async function insertAll(db: Database, inserts: Batch['inserts']): Promise<void> {
  if (inserts.length === 0) return
  if (engineOf(db) === 'postgres') {
    for (const { into, rows } of inserts) {
      await db.executeQuery(CompiledQuery.raw(await insertText(db, into), [wellFormedJson(rows)]))
    }
    return
  }
  await db.getExecutor().provideConnection(async (connection) => {
    if (!(connection instanceof SqliteConnection)) throw new Error('not a SQLite connection')
    await connection.execute(inserts.map(({ into, rows }) => insertStatement(into, rows)))
  })
}

/**
 * Inserts a row with one statement if the condition is true. Returns whether it was inserted. With `unlessTaken`, a row
 * that a unique index refuses is also not inserted, instead of failing.
 */
export async function insertIf(
  db: Database,
  { into, row }: Write,
  condition: RawBuilder<SqlBool>,
  { unlessTaken = false } = {},
): Promise<boolean> {
  const columns = sql.join(into.columns.map((name) => sql.ref(name)))
  const values = sql.join(valuesOf(into, row))
  const unless = unlessTaken ? sql` on conflict do nothing` : sql``
  const insert = sql`insert into ${sql.table(into.table)} (${columns}) select ${values} where ${condition}${unless}`
  return (await insert.execute(db)).numAffectedRows === 1n
}
