import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../database.ts'
import { projectLimit } from './project-limit.ts'
import { removeRows } from './remove-rows.ts'

const DAY_MS = 86_400_000

/** An agent or a webhook with rows that are past its project's retention. */
export type AgedRows = { owner: string | number; before: number }

type Owners = { table: 'agents' | 'webhooks'; key: 'seq' | 'id' }

/**
 * Finds an owner whose project has its own retention and that has older rows. `hasOlder` looks for one such row, using
 * an index that starts with the owner, so the cost depends on the number of owners and not of rows.
 */
export async function findAged(
  db: Database,
  { table, key }: Owners,
  now: number,
  hasOlder: (owner: RawBuilder<unknown>, before: number) => RawBuilder<SqlBool>,
): Promise<AgedRows | undefined> {
  const days = projectLimit(db, 'retention_days')
  const { rows: terms } = await sql<{ days: number }>`
    select distinct ${days} as days from projects where ${days} is not null order by days`.execute(db)
  for (const term of terms) {
    const before = now - Number(term.days) * DAY_MS
    const owner = sql.ref(`${table}.${key}`)
    const { rows } = await sql<Pick<AgedRows, 'owner'>>`
      select ${owner} as owner from projects join ${sql.table(table)} on ${sql.ref(`${table}.project_id`)} = projects.id
      where ${days} = ${term.days} and ${hasOlder(owner, before)} limit 1`.execute(db)
    if (rows[0]) return { owner: rows[0].owner, before }
  }
  return undefined
}

/** Removes at most `limit` rows of an agent that are past its project's retention. Returns how many. */
export async function removeAged(
  db: Database,
  table: 'invocations' | 'approvals' | 'logs',
  { now, limit, isOlder }: { now: number; limit: number; isOlder(before: number): RawBuilder<SqlBool> },
): Promise<number> {
  const aged = await findAged(db, { table: 'agents', key: 'seq' }, now, (agent_seq, before) =>
    anyOf(sql`${sql.table(table)} where agent_seq = ${agent_seq} and ${isOlder(before)}`),
  )
  if (!aged) return 0
  return removeRows(db, table, { which: sql`agent_seq = ${aged.owner} and ${isOlder(aged.before)}`, limit })
}

/**
 * Whether a query finds a row. With an offset, PostgreSQL looks up one row per owner instead of reading the whole table
 * to join it.
 */
export function anyOf(rows: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql`exists (select 1 from ${rows} limit 1 offset 0)`
}
