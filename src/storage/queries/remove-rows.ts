import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'
import { keyOf, type TableName, type Tables } from '../tables.ts'

type Removal = { which: RawBuilder<SqlBool>; limit: number }

/** Removes at most `limit` rows. Returns how many. */
export async function removeRows(db: Database, table: TableName, { which, limit }: Removal): Promise<number> {
  const columns = sql.join(keyOf(table).map((column) => sql.ref(column)))
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${columns}) in (
      select ${columns} from ${sql.table(table)} where ${which} limit ${limit}
    )`.execute(db)
  return Number(numAffectedRows)
}

/**
 * Removes at most `limit` rows and returns them, inside the caller's transaction. Rows that another transaction has
 * locked are left, so the caller doesn't wait for the journal.
 */
export async function takeRows<Table extends TableName>(
  db: Database,
  table: Table,
  { which, limit }: Removal,
): Promise<Selectable<Tables[Table]>[]> {
  const columns = sql.join(keyOf(table).map((column) => sql.ref(column)))
  const skipped = engineOf(db) === 'postgres' ? sql`for update skip locked` : sql``
  const taken = sql<SqlBool>`(${columns}) in (select ${columns} from ${sql.table(table)} where ${which} limit ${limit} ${skipped})`
  return (await db
    .deleteFrom(table as TableName)
    .where(taken)
    .returningAll()
    .execute()) as Selectable<Tables[Table]>[]
}
