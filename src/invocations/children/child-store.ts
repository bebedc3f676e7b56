import { sql } from 'kysely'
import { announce, type Database } from '../../storage/database.ts'
import { settlePending } from '../approvals/approval-store.ts'
import { type Invocation, UNFINISHED_STATUSES } from '../invocation.ts'
import { QUEUED_AGAIN } from '../queue/queue-store.ts'
import { fromRow } from '../rows/invocation-rows.ts'

/** The run that a call of an agent began. */
export async function findByCall(
  db: Database,
  { parent_request_id, call_key }: { parent_request_id: string; call_key: string },
): Promise<Invocation | undefined> {
  const row = await db
    .selectFrom('invocations')
    .selectAll()
    .where('parent_request_id', '=', parent_request_id)
    .where('call_key', '=', call_key)
    .executeTakeFirst()
  return row && fromRow(row)
}

type Below = { id: string; agent_seq: number; status: Invocation['status']; deadline_at: number | null }

/** The runs that a run has called, those that they have called, and so on. */
export async function listBelow(db: Database, id: string): Promise<Below[]> {
  const { rows } = await sql<Below>`
    with recursive below(id, agent_seq, status, deadline_at) as (
      select id, agent_seq, status, deadline_at from invocations where parent_request_id = ${id}
      union all
      select i.id, i.agent_seq, i.status, i.deadline_at from invocations i join below on i.parent_request_id = below.id
    )
    select id, agent_seq, status, deadline_at from below`.execute(db)
  return rows
}

/**
 * Cancels what a run has called that has not ended, because the run has ended. Those that wait are queued, and the node
 * that takes them ends them.
 */
export async function cancelBelow(db: Database, id: string, now: number): Promise<void> {
  const unfinished: readonly string[] = UNFINISHED_STATUSES
  const below = (await listBelow(db, id)).filter(({ status }) => unfinished.includes(status))
  if (below.length === 0) return
  const ids = below.map((run) => run.id)
  await db
    .updateTable('invocations')
    .set({ cancel_requested_at: now })
    .where('id', 'in', ids)
    .where('status', 'in', UNFINISHED_STATUSES)
    .execute()
  await db.updateTable('invocations').set(QUEUED_AGAIN).where('id', 'in', ids).where('status', '=', 'waiting').execute()
  await settlePending(db, ids, 'cancelled', now)
  await announce(db, 'queue')
  await announce(db, 'cancellations')
}
