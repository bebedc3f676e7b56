import { CompiledQuery, type DialectAdapter, sql } from 'kysely'
import { announce, type Change, type Database, type Engine, engineOf } from '../database.ts'
import { notifyChannel, planOnce } from '../postgres/postgres.ts'
import { SqliteConnection } from '../sqlite/sqlite.ts'
import type { SqliteStatement } from '../sqlite/sqlite-worker.ts'
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

export type BulkTable = {
  table: keyof Tables & string
  columns: readonly string[]
  merge?: Merge
  /** What the nodes hear of once the rows are committed. */
  announces?: Change
  /** A statement that completes the insert of so many rows, where the engine needs one. */
  after?(engine: Engine, count: number): SqliteStatement | undefined
}

/** A row is its values, in the order of the table's columns. */
export type Insert = { into: BulkTable; rows: Value[][] }

/** A row from its fields; what is not named is null. */
export function rowOf({ columns }: BulkTable, fields: Record<string, Value>): Value[] {
  return columns.map((column) => fields[column] ?? null)
}

/** Inserts many rows with one statement, inside the caller's transaction. */
export async function insertMany(db: Database, into: BulkTable, rows: Value[][]): Promise<void> {
  if (rows.length === 0) return
  if (into.announces) await announce(db, into.announces)
  if (engineOf(db) === 'postgres') {
    const text = await postgresInsert(db, into, 1)
    await db.executeQuery(CompiledQuery.raw(text, [toJson(rows)]))
    return
  }
  await onSqlite(db, async (connection) => {
    for (const statement of sqliteInserts({ into, rows })) await connection.execute(statement)
  })
}

/**
 * A transaction of nothing but inserts, at the price of one trip: to SQLite's writer a prepared insert for each table,
 * run for every row; to PostgreSQL a single statement. Returns what the caller must announce on this node.
 */
export async function insertAll(db: Database, inserts: Insert[]): Promise<Change[]> {
  if (inserts.length === 0) return []
  const changes = [...new Set(inserts.flatMap(({ into: { announces } }) => announces ?? []))]
  if (engineOf(db) === 'sqlite') {
    const statements = inserts.flatMap(sqliteInserts)
    await onSqlite(db, (connection) => connection.executeTransaction(statements))
    return changes
  }
  const parts: string[] = []
  for (const [i, { into }] of inserts.entries()) {
    const text = await postgresInsert(db, into, i + 1, i > 0 ? `t${i - 1}` : undefined)
    parts.push(`t${i} as (${text} returning 1)`)
  }
  const notes = changes.map((change) => `pg_notify('${notifyChannel}', '${change}')`)
  const last = `(select count(*) from t${parts.length - 1})`
  const text = `with ${parts.join(', ')} select ${[last, ...notes].join(', ')}`
  await db.executeQuery(
    CompiledQuery.raw(
      planOnce(text),
      inserts.map(({ rows }) => toJson(rows)),
    ),
  )
  return changes
}

function sqliteInserts({ into, rows }: Insert): SqliteStatement[] {
  const marks = into.columns.map(() => '?').join(', ')
  const insert = {
    sql: `insert into "${into.table}" (${namesOf(into)}) values (${marks})${conflictOf(into)}`,
    values: rows,
    many: true,
  }
  const after = into.after?.('sqlite', rows.length)
  return after ? [insert, after] : [insert]
}

/**
 * The rows come as one JSON text, which costs this process a fraction of what arrays of the driver's do. `after` is what
 * the insert must wait for: left to itself PostgreSQL takes the parts of a statement in any order.
 */
async function postgresInsert(db: Database, into: BulkTable, parameter: number, after?: string): Promise<string> {
  const types = await columnTypes(db, into.table)
  const values = into.columns.map((column, i) => `(r ->> ${i})::${types.get(column)}`).join(', ')
  const wait = after ? ` where (select count(*) from ${after}) >= 0` : ''
  return `insert into "${into.table}" (${namesOf(into)}) select ${values} from jsonb_array_elements($${parameter}::jsonb) r${wait}${conflictOf(into)}`
}

/** PostgreSQL refuses half a surrogate pair, which JSON spells as an escape; other texts rarely have one. */
function toJson(rows: Value[][]): string {
  const json = JSON.stringify(rows)
  if (!json.includes('\\ud')) return json
  return JSON.stringify(
    rows.map((row) => row.map((value) => (typeof value === 'string' ? value.toWellFormed() : value))),
  )
}

async function onSqlite(db: Database, work: (connection: SqliteConnection) => Promise<void>): Promise<void> {
  await db.getExecutor().provideConnection(async (connection) => {
    if (!(connection instanceof SqliteConnection)) throw new Error('not a SQLite connection')
    await work(connection)
  })
}

function namesOf({ columns }: BulkTable): string {
  return columns.map((column) => `"${column}"`).join(', ')
}

function conflictOf({ table, merge }: BulkTable): string {
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

/** JSON has no types of its own; each database's catalogue knows its columns', and they do not change while a node runs. */
const typesOf = new WeakMap<DialectAdapter, Map<string, Map<string, string>>>()

async function columnTypes(db: Database, table: string): Promise<Map<string, string>> {
  // A database and its transactions share their adapter, and nobody else does.
  const { adapter } = db.getExecutor()
  const ofTables = typesOf.get(adapter) ?? new Map<string, Map<string, string>>()
  typesOf.set(adapter, ofTables)
  const known = ofTables.get(table)
  if (known) return known
  const { rows } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, atttypmod) as type
    from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`.execute(db)
  const types = new Map(rows.map(({ name, type }) => [name, type]))
  ofTables.set(table, types)
  return types
}
