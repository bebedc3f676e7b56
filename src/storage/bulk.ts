import { CompiledQuery, type DialectAdapter, sql } from 'kysely'
import { announce, type Change, type Database, type Engine, engineOf } from './database.ts'
import { notifyChannel } from './postgres.ts'
import { SqliteConnection } from './sqlite.ts'
import type { SqliteStatement } from './sqlite-worker.ts'
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
  /** A statement that completes the insert of so many rows, where the engine needs one. */
  after?(engine: Engine, count: number): SqliteStatement | undefined
}

export type Insert = { into: BulkTable; rows: Value[][] }

/** Inserts many rows with one statement, inside the caller's transaction. */
export async function insertMany(db: Database, into: BulkTable, rows: Value[][]): Promise<void> {
  if (rows.length === 0) return
  if (into.announces) await announce(db, into.announces)
  if (engineOf(db) === 'postgres') {
    const { text, parameters } = await unnested(db, { into, rows }, 0)
    await db.executeQuery(CompiledQuery.raw(text, parameters))
    return
  }
  await onSqlite(db, async (connection) => {
    for (const statement of statementsFor({ into, rows })) await connection.execute(statement)
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
    const statements = inserts.flatMap(statementsFor)
    await onSqlite(db, (connection) => connection.executeTransaction(statements))
    return changes
  }
  const parts: string[] = []
  const parameters: unknown[] = []
  for (const insert of inserts) {
    const after = parts.length > 0 ? `t${parts.length - 1}` : undefined
    const { text, parameters: more } = await unnested(db, insert, parameters.length, after)
    parts.push(`t${parts.length} as (${text} returning 1)`)
    parameters.push(...more)
  }
  const notes = changes.map((change) => `pg_notify('${notifyChannel}', '${change}')`)
  const last = `(select count(*) from t${parts.length - 1})`
  await db.executeQuery(CompiledQuery.raw(`with ${parts.join(', ')} select ${[last, ...notes].join(', ')}`, parameters))
  return changes
}

function statementsFor({ into, rows }: Insert): SqliteStatement[] {
  const marks = into.columns.map(() => '?').join(', ')
  const insert = {
    sql: `insert into "${into.table}" (${namesOf(into)}) values (${marks})${conflictOf(into)}`,
    values: rows,
    many: true,
  }
  const after = into.after?.('sqlite', rows.length)
  return after ? [insert, after] : [insert]
}

/** `after` is what it must wait for: left to itself PostgreSQL takes the parts of a statement in any order. */
async function unnested(
  db: Database,
  { into, rows }: Insert,
  offset: number,
  after?: string,
): Promise<{ text: string; parameters: unknown[] }> {
  const types = await columnTypes(db, into.table)
  const arrays = into.columns.map((column, i) => `$${offset + i + 1}::${types.get(column)}[]`).join(', ')
  return {
    text: `insert into "${into.table}" (${namesOf(into)}) select * from unnest(${arrays})${after ? ` where (select count(*) from ${after}) >= 0` : ''}${conflictOf(into)}`,
    parameters: into.columns.map((_, i) => rows.map((row) => row[i] ?? null)),
  }
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

/** unnest wants the arrays' types spelled out; each database's catalogue knows its own, and they do not change while a node runs. */
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
