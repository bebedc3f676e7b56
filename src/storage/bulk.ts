import { CompiledQuery, sql } from 'kysely'
import { announce, type Change, type Database, engineOf } from './database.ts'
import { SqliteConnection } from './sqlite.ts'
import type { Tables } from './tables.ts'

type Value = string | number | null

/** What happens to a row whose key exists: the named columns grow by its values, or keep the larger; with none named it is left out. */
export type Merge = { key: string[]; add: string[]; max: string[] }

export type BulkTable = {
  table: keyof Tables & string
  columns: readonly string[]
  merge?: Merge
  /** What the nodes hear of once the rows are committed. */
  announces?: Change
  /** Completes the insert of so many rows, in its transaction. */
  after?(db: Database, count: number): Promise<void>
}

/** Inserts many rows with one statement: a prepared insert looped in the writer thread, or PostgreSQL's unnest. */
export async function insertMany(db: Database, bulk: BulkTable, rows: Value[][]): Promise<void> {
  if (rows.length === 0) return
  if (bulk.announces) await announce(db, bulk.announces)
  await insertRows(db, bulk, rows)
  await bulk.after?.(db, rows.length)
}

async function insertRows(db: Database, { table, columns, merge }: BulkTable, rows: Value[][]): Promise<void> {
  const names = columns.map((column) => `"${column}"`).join(', ')
  const conflict = merge ? ` ${onConflict(table, merge)}` : ''
  if (engineOf(db) === 'sqlite') {
    const marks = columns.map(() => '?').join(', ')
    await db.getExecutor().provideConnection(async (connection) => {
      if (!(connection instanceof SqliteConnection)) throw new Error('not a SQLite connection')
      await connection.executeMany(`insert into "${table}" (${names}) values (${marks})${conflict}`, rows)
    })
    return
  }
  const types = await columnTypes(db, table)
  const arrays = columns.map((column, i) => `$${i + 1}::${types.get(column)}[]`).join(', ')
  const statement = `insert into "${table}" (${names}) select * from unnest(${arrays})${conflict}`
  const parameters = columns.map((_, i) => rows.map((row) => row[i] ?? null))
  await db.executeQuery(CompiledQuery.raw(statement, parameters))
}

function onConflict(table: string, { key, add, max }: Merge): string {
  const target = (column: string) => `"${table}"."${column}"`
  const sets = [
    ...add.map((column) => `"${column}" = ${target(column)} + excluded."${column}"`),
    ...max.map(
      (column) =>
        `"${column}" = case when excluded."${column}" > ${target(column)} then excluded."${column}" else ${target(column)} end`,
    ),
  ]
  if (sets.length === 0) return 'on conflict do nothing'
  return `on conflict (${key.map((column) => `"${column}"`).join(', ')}) do update set ${sets.join(', ')}`
}

/** unnest wants the arrays' types spelled out; the catalogue knows them, and they do not change while a node runs. */
const typesOf = new Map<string, Map<string, string>>()

async function columnTypes(db: Database, table: string): Promise<Map<string, string>> {
  const known = typesOf.get(table)
  if (known) return known
  const { rows } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, atttypmod) as type
    from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`.execute(db)
  const types = new Map(rows.map(({ name, type }) => [name, type]))
  typesOf.set(table, types)
  return types
}
