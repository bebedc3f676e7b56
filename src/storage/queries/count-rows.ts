import { type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'
import { isOneOf } from './is-one-of.ts'

/** How many rows a select returns. */
export async function countAll<TB extends keyof Tables, Row>(
  select: SelectQueryBuilder<Tables, TB, Row>,
): Promise<number> {
  const { total } = await select
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** How many invocations or log entries the agents have, from counts that every write updates. */
export async function countOfAgents(
  db: Database,
  counted: 'invocations' | 'logs',
  seqs: readonly number[],
): Promise<number> {
  const isOfAgents = isOneOf(db, sql.ref('agent_seq'), seqs)
  const unfinished = counted === 'invocations' ? sql`(select count(*) from runs where ${isOfAgents})` : sql`0`
  const { rows } = await sql<{ total: number }>`
    select coalesce(sum(rows), 0) + ${unfinished} as total from agent_counts
    where counted = ${counted} and ${isOfAgents}`.execute(db)
  return Number(rows[0]?.total)
}
