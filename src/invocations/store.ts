import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { notFound } from '../errors.ts'
import { firstIdAt } from '../lib/id.ts'
import { addCosts, type Cost } from '../runtime/models/usage.ts'
import { jsonOf } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import type { Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import { hasLapsed } from '../storage/leases/lease.ts'
import { eraseRepliesAbout } from '../storage/leases/stored-replies.ts'
import { removeAged } from '../storage/queries/aged-rows.ts'
import { missingAgents } from '../storage/queries/missing-agents.ts'
import { removeRows } from '../storage/queries/remove-rows.ts'
import { settlePending } from './approvals/approval-store.ts'
import { cancelBelow, isAwaited } from './children/child-store.ts'
import type { EndedInvocation, Invocation } from './invocation.ts'
import { CHILDREN, lock } from './queue/queue-store.ts'
import { fromRow, LEASED_RUNS, receiptWrite } from './rows/invocation-rows.ts'
import { readRuns } from './rows/read-runs.ts'
import { countKept, removeKept } from './steps/step-store.ts'

/**
 * How an invocation that no node runs ends, and what it writes besides its row. `was` is the invocation as it was
 * found, and `kept` the number of steps that it had then.
 */
export type UnownedRunEnd = { was: Invocation; kept: number; invocation: EndedInvocation; effects: Write[] }

/**
 * Ends an invocation that no node runs: it is queued or waits, or its owner has died. Returns false and writes nothing
 * if a node runs it after all, or if it has stored another step in the meantime, which the receipt would lack.
 */
export async function endUnowned(
  db: Database,
  { was: found, kept, invocation, effects }: UnownedRunEnd,
  now: number,
): Promise<boolean> {
  const { id } = invocation
  // A decision on its approvals adds a step under the same lock.
  await lock(db, found.agent_seq, id)
  if ((await countKept(db, id)) !== kept) return false
  const { numDeletedRows } = await db
    .deleteFrom('runs')
    .where('id', '=', id)
    .where('status', '=', found.status)
    .where('attempt', '=', found.attempt)
    .where((was) => was.or([was('status', 'in', ['queued', 'waiting']), hasLapsed(LEASED_RUNS, now)]))
    .executeTakeFirst()
  if (numDeletedRows === 0n) return false
  await settlePending(db, [id], 'cancelled', now)
  await removeKept(db, [id])
  await writeRows(db, [receiptWrite(invocation), ...effects])
  await cancelBelow(db, id, now)
  // This may allow the run that called it to continue.
  if (invocation.parent_request_id !== null) await announce(db, 'queue')
  return true
}

export async function requestCancel(db: Database, id: string, now: number): Promise<void> {
  await db
    .updateTable('runs')
    .set({ cancel_requested_at: now })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .execute()
  await announce(db, 'cancellations', id)
}

/** This owner's runs that a client wants to cancel. */
export async function listCancelRequested(db: Database, owner: string): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('status', '=', 'running')
    .where('owner', '=', owner)
    .where('cancel_requested_at', 'is not', null)
    .execute()
  return rows.map(({ id }) => id)
}

/** Runs whose node has died. */
export async function listLapsed(
  db: Database,
  now: number,
  { limit, except = [] }: { limit: number; except?: readonly string[] },
): Promise<Invocation[]> {
  let select = db.selectFrom('runs').selectAll().where(hasLapsed(LEASED_RUNS, now)).limit(limit)
  if (except.length > 0) select = select.where('id', 'not in', except)
  return readRuns(db, await select.execute(), now)
}

export async function find(db: Database, agent_seq: number, id: string): Promise<Invocation | undefined> {
  const row = await db
    .selectFrom('all_invocations')
    .selectAll()
    .where('id', '=', id)
    .where('agent_seq', '=', agent_seq)
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function get(db: Database, agent_seq: number, id: string): Promise<Invocation> {
  const invocation = await find(db, agent_seq, id)
  if (!invocation) throw notFound('Invocation', id)
  return invocation
}

/** The user that the run is for, and who made the schedule if a schedule started it. */
export async function getBeginning(
  db: Database,
  agent_seq: number,
  id: string,
): Promise<{ user_id: string | null; authors: string[] }> {
  const row = await db
    .selectFrom('all_invocations')
    .select(['user_id', 'authors'])
    .where('id', '=', id)
    .where('agent_seq', '=', agent_seq)
    .executeTakeFirst()
  if (!row) throw notFound('Invocation', id)
  return { user_id: row.user_id, authors: jsonOf('invocation', { ...row, id })<string[] | null>('authors') ?? [] }
}

/** Which of these runs have ended, were deleted, or wait for runs that may wait for people. */
export async function listEnded(db: Database, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const unfinished = await db
    .selectFrom('runs')
    .select('id')
    .where('id', 'in', ids)
    .where((run) => run.or([run('waits_for', 'is', null), run('waits_for', '!=', CHILDREN)]))
    .execute()
  const known = new Set(unfinished.map(({ id }) => id))
  return ids.filter((id) => !known.has(id))
}

/**
 * Selects what retention removes: runs that ended before this time and that no other run waits for. A run that ended
 * before this time also started before it, and IDs contain the start time, so no index on times is needed.
 */
function isOutlived(before: number): RawBuilder<SqlBool> {
  return sql<SqlBool>`id < ${firstIdAt('req', before)} and finished_at < ${before} and not ${isAwaited('invocations')}`
}

/** Removes one batch of the receipts that are past retention. */
export function remove(db: Database, before: number, limit: number): Promise<number> {
  return removeRows(db, 'invocations', { which: isOutlived(before), limit })
}

/** Removes at most `limit` ended invocations that are past their project's retention. Returns how many. */
export function removeOfProjects(db: Database, now: number, limit: number): Promise<number> {
  return removeAged(db, 'invocations', { now, limit, isOlder: isOutlived })
}

/** Removes deleted agents' invocations and the replies about them, and cancels the runs that they called. */
export async function removeOfMissingAgents(db: Database, limit: number, now: number): Promise<number> {
  return (await removeOfMissing(db, 'runs', limit, now)) || removeOfMissing(db, 'invocations', limit, now)
}

async function removeOfMissing(
  db: Database,
  table: 'runs' | 'invocations',
  limit: number,
  now: number,
): Promise<number> {
  const agents = await missingAgents(db, table)
  if (agents.length === 0) return 0
  const left = await db.selectFrom(table).select('id').where('agent_seq', 'in', agents).limit(limit).execute()
  const ids = left.map(({ id }) => id)
  return table === 'runs' ? removeRuns(db, ids, now) : removeWith(db, table, ids)
}

/** Removes active runs without a receipt, and cancels the runs that they called. */
export async function removeRuns(db: Database, ids: readonly string[], now: number): Promise<number> {
  for (const id of ids) await cancelBelow(db, id, now)
  return removeWith(db, 'runs', ids)
}

async function removeWith(db: Database, table: 'runs' | 'invocations', ids: readonly string[]): Promise<number> {
  await removeKept(db, ids)
  // Replies contain users' words, and once the runs are gone, nothing says which users they belong to.
  await eraseRepliesAbout(db, ids)
  const { numDeletedRows } = await db.deleteFrom(table).where('id', 'in', ids).executeTakeFirst()
  return Number(numDeletedRows)
}

/** Some of an agent's active runs, which nothing else can end until the transaction ends. */
export function lockActive(db: Database, agent_seq: number, limit: number) {
  const active = db.selectFrom('runs').selectAll().where('agent_seq', '=', agent_seq).orderBy('id').limit(limit)
  return (engineOf(db) === 'postgres' ? active.forUpdate() : active).execute()
}

/** Adds the calls' costs to the receipts of ended runs, in total and for each step. */
export async function updateCosts(
  db: Database,
  costs: readonly { request_id: string; step: number; cost_nano: Cost }[],
): Promise<void> {
  for (const [id, calls] of Map.groupBy(costs, ({ request_id }) => request_id)) {
    const row = await db
      .selectFrom('invocations')
      .select(['id', 'steps'])
      .where('id', '=', id)
      // The lock prevents writing back steps that a simultaneous erasure has just removed.
      .$if(engineOf(db) === 'postgres', (select) => select.forUpdate())
      .executeTakeFirst()
    if (!row) continue
    const sumOf = (some: typeof calls) => some.reduce<Cost>((sum, call) => addCosts(sum, call.cost_nano), 0)
    const steps = jsonOf(
      'invocation',
      row,
    )<Invocation['steps']>('steps').map((step, position) => {
      const own = calls.filter((call) => call.step === position)
      return 'cost_nano' in step && own.length > 0 ? { ...step, cost_nano: sumOf(own) } : step
    })
    await db
      .updateTable('invocations')
      .set({ cost_nano: sumOf(calls), steps: JSON.stringify(steps) })
      .where('id', '=', id)
      .execute()
  }
}
