import { sql } from 'kysely'
import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import { ApiError } from '../errors.ts'
import { laneKey } from '../lib/work/lane-key.ts'
import type { Parts } from '../operation/parts.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import { BacklogFullError } from '../storage/journal/journal.ts'
import { insertIf } from '../storage/journal/write-rows.ts'
import { LEASE_MS } from '../storage/leases/lease.ts'
import type { Invocation } from './invocation.ts'
import { runsUnderWay } from './queue/queue-store.ts'
import { insertion } from './rows/invocation-rows.ts'

/** Why a run may not begin now. */
export type NotAdmitted = 'paused' | 'no_place' | 'overloaded'

type Asking = { invocation: Invocation; agent: Agent; definition: Definition }

/**
 * Decides whether a run that a client waits for may begin, and stores it, leased to this node: from then on every node
 * shows, follows and cancels it. An admitted run has a place in the journal, so that its entries are always accepted;
 * `leave` gives it back, even for a run that was not admitted. Where the agent limits its runs, the statement that
 * stores the run counts them on all nodes.
 */
export async function admit(
  run: LiveRun,
  { invocation, agent, definition }: Asking,
  { journal, node, now, storage }: Pick<Parts, 'journal' | 'node' | 'now' | 'storage'>,
): Promise<NotAdmitted | undefined> {
  const { max_concurrency } = definition.limits
  if (agent.status === 'paused') return 'paused'
  if (!journal.reserve()) return 'overloaded'
  run.hasPlace = true
  const time = now()
  const lease = { key: [invocation.id], owner: node, until: time + LEASE_MS }
  const row = insertion(invocation, lease)
  if (max_concurrency === null) await journal.commit({ writes: [row], reserved: true })
  else {
    const hasRoom = sql<boolean>`${runsUnderWay(storage.db, agent.seq, time)} < ${max_concurrency}`
    if (!(await insertIf(storage.db, row, hasRoom))) return 'no_place'
    run.limited_lane = laneKey(agent.project_id, agent.seq)
  }
  run.lease = lease
  return undefined
}

/** Ends a run that a client waited for, whether it was admitted or not. */
export function leave(run: LiveRun, { journal }: Pick<Parts, 'journal'>): void {
  if (run.hasPlace) journal.release()
  run.end()
}

/** The error for a client that waits for the answer. */
export function notAdmittedError(refusal: NotAdmitted, { name }: Agent, { limits }: Definition): Error {
  if (refusal === 'paused') return new ApiError('agent_paused', `Agent "${name}" is paused`)
  if (refusal === 'overloaded') return new BacklogFullError('too many writes are waiting')
  return new ApiError('rate_limited', `Agent "${name}" runs ${limits.max_concurrency} invocations already`, {
    retry_after: 1,
  })
}
