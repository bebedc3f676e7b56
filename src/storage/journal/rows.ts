import type { Change, Engine } from '../database.ts'
import type { Leased } from '../leases/lease.ts'
import type { SqliteStatement } from '../sqlite/sqlite-messages.ts'
import type { Tables } from '../tables.ts'

export type Value = string | number | null

/** What happens to a row whose key exists: the named columns grow by its values, or keep the larger; with none named it is left out. */
export type Merge = {
  key: string[]
  add: string[]
  max: string[]
  /** Another row that each row counts towards as well. */
  also?(row: Value[]): Value[]
}

/** A table into which many rows go at once. */
export type BulkTable = {
  table: keyof Tables & string
  columns: readonly string[]
  merge?: Merge
  /** What the nodes hear of once the rows are committed. */
  announces?: Change
  /** A statement that completes the insert of so many rows, where the engine needs one. */
  after?(engine: Engine, count: number): SqliteStatement | undefined
}

/** One row on its way into a table: its values, in the order of the table's columns. */
export type Write = { into: BulkTable; row: Value[] }

/** The columns that get their last values when the work on a leased row ends. */
export type EndedTable = Leased & { columns: readonly string[] }

/**
 * The end of a lease: the row gets its last values, on the condition that its owner still holds it. The row here is
 * those values, then the values of the key, then the owner.
 */
export type Ending = { of: EndedTable; row: Value[] }

/** What is written together, or not at all. */
export type Batch = {
  inserts: { into: BulkTable; rows: Value[][] }[]
  endings: { of: EndedTable; rows: Value[][] }[]
}

/** A row from its fields; what is not named is null. */
export function rowOf({ columns }: BulkTable, fields: Record<string, Value>): Value[] {
  return columns.map((column) => fields[column] ?? null)
}

export function changesOf({ inserts }: Batch): Change[] {
  return [...new Set(inserts.flatMap(({ into: { announces } }) => announces ?? []))]
}

export function namesOf({ columns }: { columns: readonly string[] }): string {
  return columns.map((column) => `"${column}"`).join(', ')
}

/** The end of an insert, in the words that both engines understand. */
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
