import type { Lease, LeasedTable } from '../leases/lease.ts'
import type { Tables } from '../tables.ts'

export type Value = string | number | null

/**
 * What happens to a row whose key already exists. Columns in `add` grow by the new value, columns in `max` keep the
 * larger value, and columns in `set` get the new one.
 */
export type Merge = {
  key: readonly string[]
  add?: string[]
  max?: string[]
  set?: string[]
}

/** A table into which many rows are inserted at once. */
export type BulkTable = {
  table: keyof Tables & string
  columns: readonly string[]
  merge?: Merge
  /**
   * A merged table whose rows are locked before rows of this table get their numbers. Writers that share such a row
   * then commit in the order of their numbers.
   */
  after?: BulkTable
}

/**
 * A row's values by column name. A column without a value is null, a flag is stored as 0 or 1, and an object as JSON.
 * Names that aren't columns are ignored.
 */
export type Row = Readonly<Record<string, Value | boolean | object | undefined>>

/** One row to write. If it is background work, `lane` is the key of its lane. */
export type Write = { into: BulkTable; row: Row; lane?: string }

/** What happens to a leased row when the work on it ends, or continues. */
export type EndedTable = LeasedTable & {
  /** The columns that get new values. Without them, the row is deleted. */
  columns?: readonly string[]
  /** Rows that are removed together with this one: those in which `column` contains the key. */
  drops?: { table: keyof Tables & string; column: string }
  /**
   * Another row of the table that changes in the same commit. `which` returns SQL that selects its `id` by the value
   * that the ending `hands` on.
   */
  next?: { set: string; which(value: string): string }
}

/** The end of a lease. The row is changed or deleted if its owner still holds the lease. */
export type LeaseEnd = {
  of: EndedTable
  lease: Pick<Lease, 'key' | 'owner'>
  row?: Row
  hands?: string
  /**
   * The earlier entry that inserts the row which this one deletes, and nothing else. If one batch contains both, the
   * row isn't written at all.
   */
  insertedBy?: object | undefined
}

/**
 * What is written together or not at all. A row of a batch contains its values in the order of the table's columns. An
 * ending also contains the values of the key, the owner and what it hands on, in this order.
 */
export type Batch = {
  inserts: { into: BulkTable; rows: Value[][] }[]
  endings: { of: EndedTable; rows: Value[][] }[]
}

/** Called after each commit with the number of entries or transactions in it, and how long the commit took. */
export type OnCommit = (entries: number, ms: number) => void

export function namesOf({ columns }: { columns: readonly string[] }): string {
  return columns.map((column) => `"${column}"`).join(', ')
}

/**
 * The largest sum that is stored. JavaScript has no exact number above it, and SQLite's driver can't read a larger one.
 */
export const LARGEST_SUM = Number.MAX_SAFE_INTEGER

/** The end of an insert statement, in SQL that both engines understand. */
export function conflictOf({ table, merge }: BulkTable): string {
  if (!merge) return ''
  const { key, add = [], max = [], set = [] } = merge
  const target = (column: string) => `"${table}"."${column}"`
  const sets = [
    ...add.map((column) => {
      const sum = `${target(column)} + excluded."${column}"`
      return `"${column}" = case when ${sum} > ${LARGEST_SUM} then ${LARGEST_SUM} else ${sum} end`
    }),
    ...max.map(
      (column) =>
        `"${column}" = case when excluded."${column}" > ${target(column)} then excluded."${column}" else ${target(column)} end`,
    ),
    ...set.map((column) => `"${column}" = excluded."${column}"`),
  ]
  return ` on conflict (${key.map((column) => `"${column}"`).join(', ')}) do update set ${sets.join(', ')}`
}
