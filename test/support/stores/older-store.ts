import { type Kysely, sql } from 'kysely'
import { type Database, engineOf } from '../../../src/storage/database.ts'
import { MIGRATIONS, migrate } from '../../../src/storage/migrate.ts'
import type { Migration } from '../../../src/storage/migrations/migration.ts'
import { countAllText } from '../../../src/storage/queries/count-changes.ts'
import { COUNTED_LISTS } from '../../../src/storage/queries/counted-lists.ts'

type Rows = Record<string, unknown>[]

/**
 * Makes a store what it would be had a program written it that did not know `first` and all later migrations: the tables
 * are made anew without them, and get the rows that they had, without columns that came later.
 */
export async function makeOlder(db: Database, first: Migration): Promise<void> {
  const engine = engineOf(db)
  const rows = new Map<string, Rows>()
  for (const table of await tablesOf(db)) rows.set(table, await rowsOf(db, table))
  if (engine === 'postgres') await sql`drop schema public cascade; create schema public`.execute(db)
  else await dropTables(db)
  await migrate(db, engine, MIGRATIONS.slice(0, MIGRATIONS.indexOf(first)))
  for (const table of await tablesOf(db)) {
    if (table.startsWith('schema_') || table === 'list_counts') continue
    const known = await columnsOf(db, table)
    await sql`delete from ${sql.table(table)}`.execute(db)
    for (const row of rows.get(table) ?? []) await insert(db, table, row, known)
  }
  if (engine === 'postgres') await numberOn(db)
  // Triggers have counted the rows, except on SQLite those that the journal counts.
  if (engine === 'sqlite') {
    for (const list of COUNTED_LISTS.filter(({ table }) => table === 'invocations' || table === 'logs')) {
      const known = await columnsOf(db, list.table)
      if (list.owner.every((column) => known.has(column))) await sql.raw(countAllText(list)).execute(db)
    }
  }
}

/** In the order in which they were made, so that no row comes before one that it refers to. */
async function tablesOf(db: Database): Promise<string[]> {
  const tables =
    engineOf(db) === 'postgres'
      ? sql<{ name: string }>`
          select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by oid`
      : sql<{ name: string }>`
          select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid`
  const names = (await tables.execute(db)).rows.map(({ name }) => name)
  // A full-text index has tables of its own.
  return names.filter((name) => !name.startsWith('memory_index'))
}

async function rowsOf(db: Database, table: string): Promise<Rows> {
  return (await sql<Rows[number]>`select * from ${sql.table(table)}`.execute(db)).rows
}

async function columnsOf(db: Database, table: string): Promise<Set<string>> {
  const columns =
    engineOf(db) === 'postgres'
      ? sql<{ name: string }>`select column_name as name from information_schema.columns where table_name = ${table}`
      : sql<{ name: string }>`select name from pragma_table_info(${table})`
  return new Set((await columns.execute(db)).rows.map(({ name }) => name))
}

async function insert(db: Database, table: string, row: Rows[number], known: ReadonlySet<string>): Promise<void> {
  const names = Object.keys(row).filter((name) => known.has(name))
  // The numbers of agents stay what they are.
  const given = engineOf(db) === 'postgres' ? sql`overriding system value` : sql``
  await sql`
    insert into ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))}) ${given}
    values (${sql.join(names.map((name) => row[name]))})`.execute(db as unknown as Kysely<unknown>)
}

/** New rows get numbers behind those that are there. */
async function numberOn(db: Database): Promise<void> {
  const { rows } = await sql<{ table_name: string; column_name: string }>`
    select table_name, column_name from information_schema.columns where is_identity = 'YES'`.execute(db)
  for (const { table_name: table, column_name: column } of rows) {
    await sql`
      select setval(pg_get_serial_sequence(${table}, ${column}), coalesce(max(${sql.ref(column)}), 1))
      from ${sql.table(table)}`.execute(db)
  }
}

async function dropTables(db: Database): Promise<void> {
  await sql`drop table if exists memory_index`.execute(db)
  for (const table of (await tablesOf(db)).toReversed()) await sql`drop table ${sql.table(table)}`.execute(db)
}
