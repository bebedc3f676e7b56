import { batchOf } from '../journal/batch.ts'
import type { JournalEntry } from '../journal/entry.ts'
import { type BulkTable, conflictOf, type EndedTable, namesOf, type Value } from '../journal/rows.ts'
import type { SqliteStatement } from './sqlite-messages.ts'

/** The statements that write these entries in one transaction. They fail if one of the entries has lost a lease. */
export function entryStatements(entries: readonly JournalEntry[]): SqliteStatement[] {
  const { endings, inserts } = batchOf(entries)
  const statements: SqliteStatement[] = []
  for (const { of, rows } of endings) statements.push(...endingStatements(of, rows))
  for (const { into, rows } of inserts) statements.push(insertStatement(into, rows))
  return statements
}

/** One prepared insert that runs once for every row. */
export function insertStatement(into: BulkTable, rows: Value[][]): SqliteStatement {
  return { sql: textOf(into, insertText), values: rows, many: true }
}

/** Cached, because every entry needs the same few texts. */
const texts = new WeakMap<BulkTable | EndedTable, string>()

function textOf<T extends BulkTable | EndedTable>(table: T, write: (table: T) => string): string {
  const text = texts.get(table) ?? write(table)
  texts.set(table, text)
  return text
}

function insertText(into: BulkTable): string {
  const marks = into.columns.map(() => '?').join(', ')
  // Any failure undoes the whole transaction. `or fail` tells SQLite that it needn't keep a journal for each statement
  // with triggers, which would cost 8 µs per row.
  return `insert or fail into "${into.table}" (${namesOf(into)}) values (${marks})${conflictOf(into)}`
}

function endingText({ table, key, columns, condition }: EndedTable): string {
  const held = [...key, 'owner'].map((column) => `"${column}" = ?`).join(' and ')
  const sets = columns?.map((column) => `"${column}" = ?`).join(', ')
  return `${sets ? `update "${table}" set ${sets}` : `delete from "${table}"`} where ${held} and ${condition}`
}

function endingStatements(of: EndedTable, rows: Value[][]): SqliteStatement[] {
  const { table, key, columns = [], drops, next } = of
  const handedAt = columns.length + key.length + 1
  const ended = next ? rows.map((row) => row.slice(0, handedAt)) : rows
  const statements: SqliteStatement[] = [{ sql: textOf(of, endingText), values: ended, many: true, mustChange: true }]
  if (drops) {
    const keys = rows.map((row) => [row[columns.length] as Value])
    statements.push({ sql: `delete from "${drops.table}" where "${drops.column}" = ?`, values: keys, many: true })
  }
  if (next) {
    const handed = rows.map((row) => [row[handedAt] as Value])
    statements.push({
      sql: `update "${table}" set ${next.set} where id = (${next.which('?')})`,
      values: handed,
      many: true,
    })
  }
  return statements
}
