import { type SqlBool, sql } from 'kysely'
import type { Database } from '../../storage/database.ts'

/**
 * Whether a run waits for people to decide something, for itself or for a run that it called. Other waits end without
 * people: for a budget, a provider, a resume, or a called run that is working.
 */
export const asksPeople = sql<SqlBool>`(all_invocations.status = 'waiting' and exists (
  select 1 from approvals where approvals.status = 'pending' and approvals.request_id in (
    with recursive asking(id) as (
      select all_invocations.id
      union all
      select called.id from runs called join asking on called.parent_request_id = asking.id
    )
    select id from asking)))`

/** A run works while it runs, and while it waits for anything other than people. */
export const works = sql<SqlBool>`(all_invocations.status in ('running', 'waiting') and not ${asksPeople})`

/** The receipt of a waiting run says whether it waits for people. */
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
