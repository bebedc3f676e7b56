import { type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'
import { isOneOf } from './is-one-of.ts'

/** How many rows a select picks. */
export async function countAll<TB extends keyof Tables, Row>(
  select: SelectQueryBuilder<Tables, TB, Row>,
): Promise<number> {
  const { total } = await select
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** How many invocations or log entries some agents have. They are counted as they are written. */
export async function countOfAgents(
  db: Database,
  counted: 'invocations' | 'logs',
  seqs: readonly number[],
): Promise<number> {
  const { total } = await db
    .selectFrom('agent_counts')
    .select(({ fn }) => fn.sum<number | null>('rows').as('total'))
    .where('counted', '=', counted)
    .where(isOneOf(db, sql.ref('agent_seq'), seqs))
    .executeTakeFirstOrThrow()
  return Number(total ?? 0)
}
