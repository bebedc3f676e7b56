import { CompiledQuery, sql } from 'kysely'
import { announce, type Database, engineOf } from '../database.ts'
import { isHeld } from '../lease.ts'
import { insertText, toJson } from '../postgres/write-batch.ts'
import { SqliteConnection } from '../sqlite/sqlite.ts'
import { insertStatements } from '../sqlite/write-batch.ts'
import type { BulkTable, Ending, Value } from './rows.ts'

/** Inserts many rows with one statement, inside the caller's transaction. */
export async function insertMany(db: Database, into: BulkTable, rows: Value[][]): Promise<void> {
  if (rows.length === 0) return
  if (into.announces) await announce(db, into.announces)
  if (engineOf(db) === 'postgres') {
    await db.executeQuery(CompiledQuery.raw(await insertText(db, into), [toJson(rows)]))
    return
  }
  await db.getExecutor().provideConnection(async (connection) => {
    if (!(connection instanceof SqliteConnection)) throw new Error('not a SQLite connection')
    for (const statement of insertStatements(into, rows)) await connection.execute(statement)
  })
}

/** Writes the end of a lease, inside the caller's transaction; false when it was lost. */
export async function endHeld(db: Database, { of, row }: Ending): Promise<boolean> {
  const { table, key, columns } = of
  const sets = columns.map((column, i) => sql`${sql.ref(column)} = ${row[i]}`)
  const lease = {
    key: row.slice(columns.length, columns.length + key.length) as string[],
    owner: row[columns.length + key.length] as string,
  }
  const { numAffectedRows } =
    await sql`update ${sql.table(table)} set ${sql.join(sets)} where ${isHeld(of, lease)}`.execute(db)
  return (numAffectedRows ?? 0n) > 0n
}
