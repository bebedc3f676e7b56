import type { JournalEntry } from './entry.ts'
import {
  type Batch,
  type BulkTable,
  type EndedTable,
  LARGEST_SUM,
  type LeaseEnd,
  type Merge,
  type Row,
  type Value,
} from './rows.ts'

/**
 * Combines several entries into one batch. All rows of a table are together, and are merged if the table is a merged
 * one.
 */
export function batchOf(entries: readonly JournalEntry[]): Batch {
  const rows = new Map<BulkTable, Value[][]>()
  const ended = new Map<EndedTable, Value[][]>()
  const isUndone = insertedInVain(entries)
  for (const entry of entries) {
    if (isUndone.has(entry)) continue
    const { writes, endings = NONE } = entry
    for (const { into, row } of writes) addTo(rows, into, valuesOf(into, row))
    for (const { of, lease, row = NO_ROW, hands, insertedBy } of endings) {
      if (insertedBy && isUndone.has(insertedBy)) continue
      const values = [...valuesOf(of, row), ...lease.key, lease.owner]
      if (hands !== undefined) values.push(hands)
      addTo(ended, of, values)
    }
  }
  const batch: Batch = { inserts: [], endings: [] }
  for (const into of [...rows.keys()].toSorted(byTable)) {
    batch.inserts.push({ into, rows: mergedRows(into, rows.get(into) ?? []) })
  }
  for (const of of [...ended.keys()].toSorted(byKind)) batch.endings.push({ of, rows: ended.get(of) ?? [] })
  return batch
}

/** The entries whose row another entry of the batch deletes. */
function insertedInVain(entries: readonly JournalEntry[]): ReadonlySet<object> {
  const all = new Set<object>(entries)
  const found = new Set<object>()
  for (const { endings = NONE } of entries) {
    for (const { insertedBy } of endings) if (insertedBy && all.has(insertedBy)) found.add(insertedBy)
  }
  return found
}

const NONE: readonly LeaseEnd[] = []
const NO_ROW: Row = {}

/** The rows as they are inserted into the table, merged if necessary. */
export function mergedRows({ columns, merge }: BulkTable, rows: Value[][]): Value[][] {
  return merge && rows.length > 1 ? merged(columns, merge, rows) : rows
}

/** The values of a row in the order of the table's columns. */
export function valuesOf({ columns }: { columns?: readonly string[] }, row: Row): Value[] {
  const values: Value[] = []
  for (const column of columns ?? []) values.push(valueOf(row[column]))
  return values
}

function valueOf(value: Row[string]): Value {
  if (typeof value === 'object') return value && JSON.stringify(value)
  return typeof value === 'boolean' ? Number(value) : (value ?? null)
}

function addTo<T, R>(rows: Map<T, R[]>, table: T, row: R): void {
  const others = rows.get(table)
  if (others) others.push(row)
  else rows.set(table, [row])
}

/**
 * Tables are sorted by name, so equal batches become equal statements. Merged tables come last, so nodes lock their
 * shared rows in the same order and as late as possible.
 */
function byTable(a: BulkTable, b: BulkTable): number {
  return rankOf(a) - rankOf(b) || compare(a.table, b.table)
}

function rankOf({ merge, after }: BulkTable): number {
  return after ? 2 : Number(merge !== undefined)
}

/** A table can have several kinds of endings. They are sorted too, no matter which came first. */
function byKind(a: EndedTable, b: EndedTable): number {
  return compare(a.table, b.table) || compare(kindOf(a), kindOf(b))
}

function kindOf({ columns, drops, next }: EndedTable): string {
  return `${columns} ${drops?.table ?? ''} ${next?.set ?? ''}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/**
 * Makes one row per key, sorted by key. PostgreSQL accepts a key only once per statement, and nodes that use the same
 * order cannot deadlock. The rows are sorted and each is compared with the previous one, because a map would need a
 * text for every key, which costs more.
 */
function merged(columns: readonly string[], { key, add = [], max = [], set = [] }: Merge, rows: Value[][]): Value[][] {
  const positionsOf = (names: readonly string[]) => names.map((name) => columns.indexOf(name))
  const [keys, sums, maxima, latest] = [key, add, max, set].map(positionsOf) as [number[], number[], number[], number[]]
  const found: Value[][] = []
  for (const row of rows.toSorted((a, b) => compareAt(keys, a, b))) {
    const same = found.at(-1)
    if (!same || compareAt(keys, same, row) !== 0) {
      found.push([...row])
      continue
    }
    for (const position of sums) {
      same[position] = Math.min(Number(same[position]) + Number(row[position]), LARGEST_SUM)
    }
    for (const position of maxima) same[position] = Math.max(Number(same[position]), Number(row[position]))
    for (const position of latest) same[position] = row[position] as Value
  }
  return found
}

/** Compares two keys. A key's column has values of one type, texts or numbers, and no nulls. */
function compareAt(positions: readonly number[], a: readonly Value[], b: readonly Value[]): number {
  for (const position of positions) {
    const [x, y] = [a[position] as string, b[position] as string]
    if (x !== y) return x < y ? -1 : 1
  }
  return 0
}
