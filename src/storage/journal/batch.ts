import type { JournalEntry } from './entry.ts'
import { mergeRows } from './merge-rows.ts'
import type { Batch, BulkTable, EndedTable, Merge, Value } from './rows.ts'

/** Rows by the table they go into. */
export type Rows = ReadonlyMap<BulkTable, Value[][]>

export function rowsOf(entries: readonly JournalEntry[]): Rows {
  const rows = new Map<BulkTable, Value[][]>()
  for (const { writes, claim } of entries) {
    for (const { into, row } of writes) addTo(rows, into, row)
    if (claim) addTo(rows, claim.into, claim.row)
  }
  return rows
}

/** Makes one batch of several entries. The rows of a table stand together, and are merged where the table says so. */
export function batchOf(rows: Rows, entries: readonly JournalEntry[]): Batch {
  const endings = new Map<EndedTable, Value[][]>()
  for (const entry of entries) for (const { of, row } of entry.endings ?? []) addTo(endings, of, row)
  return {
    inserts: [...rows]
      .toSorted(([a], [b]) => byTable(a, b))
      .map(([into, given]) => ({ into, rows: inOrder(into, given) })),
    endings: [...endings].toSorted(([a], [b]) => byKind(a, b)).map(([of, ended]) => ({ of, rows: ended })),
  }
}

/** The rows as they go into the table: merged or sorted, where the table says so. */
export function inOrder({ columns, merge, sorted }: BulkTable, rows: Value[][]): Value[][] {
  if (merge) return merged(columns, merge, rows)
  return sorted ? rows.toSorted(byFirstColumns) : rows
}

/** The first columns are the key, so the others are not compared. */
function byFirstColumns(a: Value[], b: Value[]): number {
  const i = a.findIndex((value, at) => value !== b[at])
  return compare(String(a[i]), String(b[i]))
}

function addTo<T>(rows: Map<T, Value[][]>, table: T, row: Value[]): void {
  const others = rows.get(table)
  if (others) others.push(row)
  else rows.set(table, [row])
}

/**
 * Tables are sorted by name, so that equal batches become equal statements. Merged tables come last, so that nodes lock
 * their shared rows in the same order.
 */
function byTable(a: BulkTable, b: BulkTable): number {
  const last = Number(a.merge !== undefined) - Number(b.merge !== undefined)
  return last || compare(a.table, b.table) || compare(a.announces ?? '', b.announces ?? '')
}

/** A table may have several kinds of endings. They are sorted too, whichever came first. */
function byKind(a: EndedTable, b: EndedTable): number {
  return compare(a.table, b.table) || compare(kindOf(a), kindOf(b))
}

function kindOf({ columns, drops }: EndedTable): string {
  return `${columns} ${drops?.table ?? ''}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/**
 * Makes one row per key, sorted by key. PostgreSQL accepts a key only once per statement, and nodes that use the same
 * order cannot deadlock.
 */
function merged(columns: readonly string[], { key, add, max }: Merge, rows: Value[][]): Value[][] {
  const positionsOf = (names: string[]) => names.map((name) => columns.indexOf(name))
  const positions = { key: positionsOf(key), add: positionsOf(add), max: positionsOf(max) }
  return mergeRows(rows, positions)
}
