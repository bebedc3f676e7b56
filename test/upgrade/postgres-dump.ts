import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { STATEMENT_END } from '../../src/storage/schema/migrations/frozen-migration.ts'

const SCHEMA = new URL('../../src/storage/schema/migrations/', import.meta.url)

/** The database as plain SQL that fills an empty one: the statements of its first migration, and its rows. */
export async function dumpPostgres(url: string, migration: string): Promise<string> {
  return withClient(url, async (client) => {
    const statements = readFileSync(new URL(`${migration}.postgres.sql`, SCHEMA), 'utf8').split(STATEMENT_END)
    const lines = [
      '-- Triggers have counted these rows already.',
      'set session_replication_role = replica;',
      'create table migrations (name text primary key, breaks integer not null, migrated_at bigint not null);',
      ...statements.filter((text) => text && !text.startsWith('insert into ')).map((text) => `${text};`),
    ]
    const { rows: tables } = await client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public' order by tablename",
    )
    for (const { name } of tables) lines.push(...(await rowsAsSql(client, name)))
    lines.push('set session_replication_role = origin;')
    return `${lines.join('\n')}\n`
  })
}

export async function loadPostgres(url: string, dump: string): Promise<void> {
  await withClient(url, (client) => client.query(dump))
}

async function rowsAsSql(client: Client, table: string): Promise<string[]> {
  const { rows: columns } = await client.query<{ name: string; identity: string }>(
    "select attname as name, attidentity as identity from pg_attribute where attrelid = $1::regclass and attnum > 0 and attgenerated = '' order by attnum",
    [table],
  )
  const names = columns.map(({ name }) => `"${name}"`)
  const values = names.map((name) => `quote_nullable(${name}::text)`).join(` || ', ' || `)
  const { rows } = await client.query<{ text: string }>(`select ${values} as text from ${table} order by 1`)
  const counter = columns.find(({ identity }) => identity !== '')?.name
  return [
    ...rows.map(({ text }) => `insert into ${table} (${names.join(', ')}) overriding system value values (${text});`),
    ...(counter && rows.length > 0
      ? [`select setval(pg_get_serial_sequence('${table}', '${counter}'), (select max(${counter}) from ${table}));`]
      : []),
  ]
}

async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
