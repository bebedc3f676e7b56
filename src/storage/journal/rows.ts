import type { Change } from '../database.ts'
import type { Leased } from '../leases/lease.ts'
import type { SqliteStatement } from '../sqlite/sqlite-messages.ts'
import type { Tables } from '../tables.ts'

export type Value = string | number | null

/**
 * What happens to a row whose key exists already. Columns in `add` grow by its values, and columns in `max` keep the
 * larger value. If none are named, the row is left out.
 */
export type Merge = {
  key: string[]
  add: string[]
  max: string[]
}

/** A table into which many rows go at once. */
export type BulkTable = {
  table: keyof Tables & string
  columns: readonly string[]
  merge?: Merge
  /** Other nodes may insert rows with the same key. All insert them sorted, so that they cannot deadlock. */
  sorted?: true
  /** The change that is announced to all nodes once the rows are committed. */
  announces?: Change
  /**
   * On SQLite: the statement that counts these rows, in the transaction that inserts them (`queries/count-changes.ts`).
   */
  count?(rows: Value[][]): SqliteStatement
}

/** One row that is to be written: its values, in the order of the table's columns. */
export type Write = { into: BulkTable; row: Value[] }

/** The columns that get their last values when the work on a leased row ends. */
export type EndedTable = Leased & {
  columns: readonly string[]
  /** Rows that are removed with the end: those whose column has the value of the key. */
  drops?: { table: keyof Tables & string; column: string }
}

/**
 * The end of a lease. The row gets its last values if its owner still holds it. `row` has those values, then the values
 * of the key, then the owner.
 */
export type Ending = { of: EndedTable; row: Value[] }

/** What is written together, or not at all. */
export type Batch = {
  inserts: { into: BulkTable; rows: Value[][] }[]
  endings: { of: EndedTable; rows: Value[][] }[]
}

/** Makes a row from its fields; missing fields become null. */
export function rowOf({ columns }: BulkTable, fields: Record<string, Value>): Value[] {
  return columns.map((column) => fields[column] ?? null)
}

export function changesOf({ inserts }: Batch): Change[] {
  return [...new Set(inserts.flatMap(({ into: { announces } }) => announces ?? []))]
}

export function namesOf({ columns }: { columns: readonly string[] }): string {
  return columns.map((column) => `"${column}"`).join(', ')
}

/** The end of an insert statement, in SQL that both engines understand. */
export function conflictOf({ table, merge }: BulkTable): string {
  if (!merge) return ''
  const target = (column: string) => `"${table}"."${column}"`
  const sets = [
    ...merge.add.map((column) => `"${column}" = ${target(column)} + excluded."${column}"`),
    ...merge.max.map(
      (column) =>
        `"${column}" = case when excluded."${column}" > ${target(column)} then excluded."${column}" else ${target(column)} end`,
    ),
  ]
  if (sets.length === 0) return ' on conflict do nothing'
  return ` on conflict (${merge.key.map((column) => `"${column}"`).join(', ')}) do update set ${sets.join(', ')}`
}
