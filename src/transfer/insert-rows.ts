import { sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import { isDuplicate } from '../storage/failures.ts'
import type { CarriedName } from './carried-tables.ts'

/** A row as it will be stored. */
export type NewRow = Readonly<Record<string, string | number | Uint8Array | null>>

/** Rows with these ids or keys are in the store already. */
export class RowsExistError extends Error {}

/** Inserts rows, and compares what the database then has with what it was given. All have the same columns. */
export async function insertRows(db: Database, table: CarriedName, rows: readonly NewRow[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column] ?? null))})`)
  try {
    const { rows: stored } = await sql<NewRow>`
      insert into ${sql.table(table)} (${names}) values ${sql.join(values)} returning ${names}`.execute(db)
    if (!isSame(columns, rows, stored)) throw new Error(`the database has stored other rows of ${table}`)
  } catch (error) {
    throw isDuplicate(error) ? new RowsExistError(table) : error
  }
}

/** How many rows can be inserted at once: both engines limit the parameters of a statement. */
export function mostRows(columns: number): number {
  return Math.min(MOST_ROWS, Math.floor(MOST_PARAMETERS / Math.max(1, columns)))
}

const MOST_ROWS = 250
const MOST_PARAMETERS = 30_000

/** The engines need not return rows in the order in which they were given. */
function isSame(columns: readonly string[], given: readonly NewRow[], stored: readonly NewRow[]): boolean {
  const lines = (rows: readonly NewRow[]) =>
    rows.map((row) => JSON.stringify(columns.map((column) => plain(row[column] ?? null)))).toSorted()
  const [a, b] = [lines(given), lines(stored)]
  return a.length === b.length && a.every((line, i) => line === b[i])
}

function plain(value: string | number | Uint8Array | null): string | number | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
