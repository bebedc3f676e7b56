import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { addCosts, type Cost } from '../../runtime/models/usage.ts'
import type { ModelSpend } from '../../runtime/steps.ts'
import { announce, type Database } from '../../storage/database.ts'
import { anyOf } from '../../storage/queries/aged-rows.ts'
import { settlePending } from '../approvals/approval-store.ts'
import { type Invocation, isFinal } from '../invocation.ts'
import { ENDS_AFTER_WAIT } from '../queue/queue-store.ts'
import { fromRow } from '../rows/invocation-rows.ts'

/** The run that a call to an agent has started. */
export async function findByCall(
  db: Database,
  { parent_request_id, call_key }: { parent_request_id: string; call_key: string },
): Promise<Invocation | undefined> {
  const row = await db
    .selectFrom('all_invocations')
    .selectAll()
    .where('parent_request_id', '=', parent_request_id)
    .where('call_key', '=', call_key)
    .executeTakeFirst()
  return row && fromRow(row)
}

/**
 * Whether the run that called this one is still active. That run needs the answer, and calls the agent again if the
 * answer is missing.
 */
export function isAwaited(table: 'runs' | 'invocations'): RawBuilder<SqlBool> {
  return anyOf(sql`runs as caller where caller.id = ${sql.ref(`${table}.parent_request_id`)}`)
}

type Below = Pick<
  Invocation,
  'id' | 'agent_seq' | 'status' | 'deadline_at' | 'input_tokens' | 'output_tokens' | 'cost_nano'
>

/** The runs below a run: those that it has called, those that they have called, and so on. */
export async function listBelow(db: Database, id: string): Promise<Below[]> {
  // The query begins with `select`, so SQLite runs it on a reader and it doesn't wait for the writer.
  const { rows } = await sql<Below>`select * from (
    with recursive below(id, agent_seq, status, deadline_at, input_tokens, output_tokens, cost_nano) as (
      select id, agent_seq, status, deadline_at, input_tokens, output_tokens, cost_nano
      from all_invocations where parent_request_id = ${id}
      union all
      select i.id, i.agent_seq, i.status, i.deadline_at, i.input_tokens, i.output_tokens, i.cost_nano
      from all_invocations i join below on i.parent_request_id = below.id
    )
    select * from below) found`.execute(db)
  return rows
}

/** Whether the run, or one above it, is of this agent. */
export async function isBelow(db: Database, id: string, agent_seq: number): Promise<boolean> {
  const { rows } = await sql`select 1 from (
    with recursive above(agent_seq, parent_request_id) as (
      select agent_seq, parent_request_id from runs where id = ${id}
      union all
      select caller.agent_seq, caller.parent_request_id
      from runs caller join above on caller.id = above.parent_request_id
    )
    select agent_seq from above) found where agent_seq = ${agent_seq} limit 1`.execute(db)
  return rows.length > 0
}

/** What a run and all runs that it has called have used. */
export async function spentWithBelow(db: Database, run: Invocation): Promise<ModelSpend> {
  const usage = { input_tokens: 0, output_tokens: 0 }
  let cost: Cost = 0
  for (const { input_tokens, output_tokens, cost_nano } of [run, ...(await listBelow(db, run.id))]) {
    usage.input_tokens += input_tokens
    usage.output_tokens += output_tokens
    cost = addCosts(cost, cost_nano)
  }
  return { usage, cost_nano: cost }
}

/** Cancels the active runs below a run that has ended. */
export async function cancelBelow(db: Database, id: string, now: number): Promise<void> {
  const below = (await listBelow(db, id)).filter((run) => !isFinal(run))
  await cancelThose(
    db,
    below.map((run) => run.id),
    now,
  )
}

/** Cancels runs on any node. Waiting runs are queued, and the node that takes them ends them. */
export async function cancelThose(db: Database, ids: readonly string[], now: number): Promise<void> {
  if (ids.length === 0) return
  const those = db.updateTable('runs').where('id', 'in', ids)
  await those.set({ cancel_requested_at: now }).execute()
  await those.set(ENDS_AFTER_WAIT).where('status', '=', 'waiting').execute()
  // These runs only have to end, so they don't wait for the turn of a session.
  await those.set({ session_key: null, place: null }).where('place', 'is not', null).execute()
  await settlePending(db, ids, 'cancelled', now)
  await announce(db, 'queue')
  await announce(db, 'cancellations')
}

/** Cancels the agent's active runs that this actor has started. */
export async function cancelStartedBy(
  db: Database,
  { agent_seq, created_by }: { agent_seq: number; created_by: string },
  now: number,
): Promise<void> {
  const active = db.selectFrom('runs').select('id').where('agent_seq', '=', agent_seq)
  const started = await active.where('created_by', '=', created_by).execute()
  await cancelThose(
    db,
    started.map(({ id }) => id),
    now,
  )
}

/** Runs that have ended or were deleted while runs that they called are still active and not being cancelled. */
export async function listEndedCallers(db: Database, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select distinct parent_request_id as id from runs
    where parent_request_id is not null and cancel_requested_at is null and not ${isAwaited('runs')} limit ${limit}`.execute(
    db,
  )
  return rows.map(({ id }) => id)
}

/** Runs that began to wait just as they were cancelled. */
export async function listUncancelled(db: Database, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from runs where cancel_requested_at > 0 and status = 'waiting' limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}
