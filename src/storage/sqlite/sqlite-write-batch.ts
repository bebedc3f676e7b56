import { batchOf } from '../journal/batch.ts'
import type { JournalEntry } from '../journal/entry.ts'
import { type BulkTable, conflictOf, type EndedTable, namesOf, type Value } from '../journal/rows.ts'
import type { SqliteStatement } from './sqlite-messages.ts'

/** What writes these entries in one transaction. It fails if a lease of one of them was lost. */
export function entryStatements(entries: readonly JournalEntry[]): SqliteStatement[] {
  const { endings, inserts } = batchOf(entries)
  const ends = endings.flatMap(({ of, rows }) => endingStatements(of, rows))
  return [...ends, ...inserts.map(({ into, rows }) => insertStatement(into, rows))]
}

/** One prepared insert that runs for every row. */
export function insertStatement(into: BulkTable, rows: Value[][]): SqliteStatement {
  return { sql: insertText(into), values: rows, many: true }
}

/** Every entry needs the same few texts. */
const insertTexts = new WeakMap<BulkTable, string>()

function insertText(into: BulkTable): string {
  const known = insertTexts.get(into)
  if (known !== undefined) return known
  const marks = into.columns.map(() => '?').join(', ')
  // Whatever fails undoes its whole transaction. `or fail` tells SQLite so: else it would keep a journal of each statement
  // that has triggers, which costs 8 µs a row.
  const text = `insert or fail into "${into.table}" (${namesOf(into)}) values (${marks})${conflictOf(into)}`
  insertTexts.set(into, text)
  return text
}

function endingStatements({ table, key, columns, condition, drops }: EndedTable, rows: Value[][]): SqliteStatement[] {
  const sets = columns.map((column) => `"${column}" = ?`).join(', ')
  const held = [...key, 'owner'].map((column) => `"${column}" = ?`).join(' and ')
  const end = {
    sql: `update "${table}" set ${sets} where ${held} and ${condition}`,
    values: rows,
    many: true,
    mustChange: true,
  }
  if (!drops) return [end]
  const keys = rows.map((row) => [row[columns.length] as Value])
  return [end, { sql: `delete from "${drops.table}" where "${drops.column}" = ?`, values: keys, many: true }]
}
