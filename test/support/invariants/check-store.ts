import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import type { Engine } from '../../../src/storage/database.ts'
import { idleRules, type Rule, stoppedRules, storeRules } from './rules.ts'

/** A larger store would take too long to check during a test. */
const MOST_BYTES = 32 * 2 ** 20
const MOST_SHOWN = 5

/** A store, and the node that has just stopped using it. */
export type RestingStore = {
  engine: Engine
  /** The data folder. */
  data: string
  /** The URL of the PostgreSQL database. */
  url: string
  /** The node's name in leases. */
  node: string
  /** Whether no other node of this process uses the store. */
  isLast: boolean
  /** Whether it has refused writes. */
  isTroubled: boolean
}

/** What is wrong with a store after a node has stopped, one sentence for each problem. */
export async function brokenRules(store: RestingStore): Promise<string[]> {
  const ended = store.isTroubled ? [] : [...stoppedRules(store.node), ...(store.isLast ? idleRules : [])]
  const rules = [...storeRules(store.engine), ...ended]
  const found = store.engine === 'sqlite' ? askSqlite(store.data, rules) : await askPostgres(store.url, rules)
  return [...Map.groupBy(found, ({ rule }) => rule)].map(([rule, rows]) => {
    const shown = rows.slice(0, MOST_SHOWN).map(({ what }) => what)
    return `${rule}: ${shown.join(', ')}${rows.length > MOST_SHOWN ? ` and ${rows.length - MOST_SHOWN} more` : ''}`
  })
}

type Found = { rule: string; what: string }

/** Combines all rules into one statement, so that all see the same state of the store. */
function statementOf(rules: readonly Rule[]): string {
  return rules
    .map(({ name, broken }) => {
      const quoted = name.replaceAll("'", "''")
      return `select '${quoted}' as rule, cast(what as text) as what from (select * from (${broken}) q) as r(what)`
    })
    .join('\nunion all\n')
}

function askSqlite(data: string, rules: readonly Rule[]): Found[] {
  const file = join(data, 'moorage.db')
  if (!existsSync(file) || statSync(file).size > MOST_BYTES) return []
  // A closed store consists only of this file, and reading it must not create others.
  const url = pathToFileURL(file)
  if (!existsSync(`${file}-wal`)) url.searchParams.set('immutable', '1')
  const db = new DatabaseSync(url, { readOnly: true })
  try {
    // SQLite has no names for the columns of a subquery.
    return rules.flatMap(({ name, broken }) => {
      const statement = db.prepare(broken)
      statement.setReturnArrays(true)
      return statement.all().map((row) => ({ rule: name, what: String((row as unknown as unknown[])[0]) }))
    })
  } finally {
    db.close()
  }
}

async function askPostgres(url: string, rules: readonly Rule[]): Promise<Found[]> {
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
  } catch {
    // The test has removed the database.
    return []
  }
  try {
    const { rows } = await client.query(`select pg_database_size(current_database()) as bytes`)
    // An empty database has about 10 MB.
    if (Number(rows[0].bytes) > 2 * MOST_BYTES) return []
    return (await client.query(statementOf(rules))).rows
  } finally {
    await client.end()
  }
}
