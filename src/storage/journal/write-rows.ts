import { CompiledQuery, type RawBuilder, type SqlBool, sql } from 'kysely'
import { announce, type Database, engineOf } from '../database.ts'
import { isHeld, type Lease } from '../leases/lease.ts'
import type { Storage } from '../open-storage.ts'
import { insertText, toJson } from '../postgres/postgres-write-batch.ts'
import { SqliteConnection } from '../sqlite/sqlite.ts'
import type { SqliteStatement } from '../sqlite/sqlite-messages.ts'
import { insertStatements } from '../sqlite/sqlite-write-batch.ts'
import { inOrder } from './batch.ts'
import type { BulkTable, Ending, Value, Write } from './rows.ts'

/** Inserts many rows with one statement, inside the caller's transaction. They are merged where the table says so. */
export async function insertMany(db: Database, into: BulkTable, given: Value[][]): Promise<void> {
  if (given.length === 0) return
  const rows = inOrder(into, given)
  if (into.announces) await announce(db, into.announces)
  if (engineOf(db) === 'postgres') {
    await db.executeQuery(CompiledQuery.raw(await insertText(db, into), [toJson(rows)]))
    return
  }
  await executeOnSqlite(db, insertStatements(into, rows))
}

async function executeOnSqlite(db: Database, statements: readonly SqliteStatement[]): Promise<void> {
  await db.getExecutor().provideConnection(async (connection) => {
    if (!(connection instanceof SqliteConnection)) throw new Error('not a SQLite connection')
    for (const statement of statements) await connection.execute(statement)
  })
}

/** Inserts a row if the condition holds, with one statement. Returns whether it did. */
export async function insertIf(
  { db, transaction }: Pick<Storage, 'db' | 'transaction'>,
  { into, row }: Write,
  condition: RawBuilder<SqlBool>,
): Promise<boolean> {
  const columns = sql.join(into.columns.map((name) => sql.ref(name)))
  const insert = sql`insert into ${sql.table(into.table)} (${columns}) select ${sql.join(row)} where ${condition}`
  if (engineOf(db) === 'postgres') return (await insert.execute(db)).numAffectedRows === 1n
  return transaction(async (held) => {
    if ((await insert.execute(held)).numAffectedRows !== 1n) return false
    if (into.count) await executeOnSqlite(held, [into.count([row])])
    return true
  })
}

/** Whether the owner still holds the row. From then on no other owner can take it until the transaction ends. */
export async function isStillHeld(db: Database, ending: Ending): Promise<boolean> {
  const lock = engineOf(db) === 'postgres' ? sql`for update` : sql``
  const { rows } = await sql`
    select 1 from ${sql.table(ending.of.table)} where ${isHeld(ending.of, leaseOf(ending))} ${lock}`.execute(db)
  return rows.length > 0
}

/** Writes the end of a lease that is still held, inside the caller's transaction. */
export async function endHeld(db: Database, ending: Ending): Promise<void> {
  const { table, columns, drops } = ending.of
  if (drops) {
    const { key } = leaseOf(ending)
    await sql`delete from ${sql.table(drops.table)} where ${sql.ref(drops.column)} = ${key[0]}`.execute(db)
  }
  const sets = columns.map((column, i) => sql`${sql.ref(column)} = ${ending.row[i]}`)
  await sql`
    update ${sql.table(table)} set ${sql.join(sets)} where ${isHeld(ending.of, leaseOf(ending))}`.execute(db)
}

function leaseOf({ of: { key, columns }, row }: Ending): Omit<Lease, 'until'> {
  const ownerAt = columns.length + key.length
  return { key: row.slice(columns.length, ownerAt) as string[], owner: row[ownerAt] as string }
}
