import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'

/** `key`: the columns that name a row. */
export type Removal = { which: RawBuilder<SqlBool>; key?: readonly string[]; limit: number }

/** Removes at most `limit` rows; returns how many. */
export async function removeRows(
  db: Database,
  table: keyof Tables,
  { which, key = ['id'], limit }: Removal,
): Promise<number> {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${columns}) in (
      select ${columns} from ${sql.table(table)} where ${which} limit ${limit}
    )`.execute(db)
  return Number(numAffectedRows)
}
