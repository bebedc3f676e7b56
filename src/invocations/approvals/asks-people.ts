import { type SqlBool, sql } from 'kysely'
import type { Database } from '../../storage/database.ts'

/**
 * Whether a run waits for people to decide: what it asks itself, or what a run asks that it has called. Any other run that
 * waits continues without them: it waits for a budget, a provider, a resume, or a run that works.
 */
export const asksPeople = sql<SqlBool>`(all_invocations.status = 'waiting' and exists (
  select 1 from approvals where approvals.status = 'pending' and approvals.request_id in (
    with recursive asking(id) as (
      select all_invocations.id
      union all
      select called.id from runs called join asking on called.parent_request_id = asking.id
    )
    select id from asking)))`

/** A run works while it runs, and while it waits for anything else than people. */
export const works = sql<SqlBool>`(all_invocations.status in ('running', 'waiting') and not ${asksPeople})`

/** Receipts of runs that wait say whether they wait for people. */
export async function withAsking<Told extends { request_id: string; status: string }>(
  db: Database,
  receipts: readonly Told[],
): Promise<(Told & { asks_people?: boolean })[]> {
  const waiting = receipts.filter(({ status }) => status === 'waiting').map(({ request_id }) => request_id)
  if (waiting.length === 0) return [...receipts]
  const rows = await db
    .selectFrom('all_invocations')
    .select('id')
    .where('id', 'in', waiting)
    .where(asksPeople)
    .execute()
  const asking = new Set(rows.map(({ id }) => id))
  return receipts.map((receipt) =>
    receipt.status === 'waiting' ? { ...receipt, asks_people: asking.has(receipt.request_id) } : receipt,
  )
}
