import { sql } from 'kysely'
import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import { ApiError } from '../errors.ts'
import { laneKey } from '../lib/work/lane-key.ts'
import type { Parts } from '../operation/parts.ts'
import { requireRoom } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import { BacklogFullError } from '../storage/journal/journal.ts'
import { insertIf } from '../storage/journal/write-rows.ts'
import { LEASE_MS } from '../storage/leases/lease.ts'
import type { Invocation } from './invocation.ts'
import { isProjectFull, runsOfProject, runsUnderWay } from './queue/queue-store.ts'
import { insertion } from './rows/invocation-rows.ts'

/** Why a run may not begin now. */
export type NotAdmitted = 'no_place' | 'project_full' | 'overloaded'

type Asking = { invocation: Invocation; agent: Agent; definition: Definition }

/**
 * Decides whether a run that a client waits for may begin, and stores it, leased to this node: from then on every node
 * shows, follows and cancels it. An admitted run has a place in the journal, so that its entries are always accepted;
 * `leave` gives it back, even for a run that was not admitted. Where the agent or its project limits its runs, the
 * statement that stores the run counts them on all nodes.
 */
export async function admit(
  run: LiveRun,
  { invocation, agent, definition }: Asking,
  parts: Pick<Parts, 'journal' | 'memo' | 'node' | 'now' | 'storage'>,
): Promise<NotAdmitted | undefined> {
  const { journal, node, now, storage } = parts
  const mostOfAgent = definition.limits.max_concurrency
  const project = await projects.findKnown(agent.project_id, parts)
  requireRoom(project)
  const mostOfProject = project?.limits.concurrent_runs ?? null
  if (!journal.reserve()) return 'overloaded'
  run.hasPlace = true
  const time = now()
  const lease = { key: [invocation.id], owner: node, until: time + LEASE_MS }
  const row = insertion(invocation, agent.project_id, lease)
  if (mostOfAgent === null && mostOfProject === null) await journal.commit({ writes: [row], reserved: true })
  else {
    const { db } = storage
    const ofProject = sql`${runsOfProject(db, sql`${agent.project_id}`, time)} < ${mostOfProject}`
    const ofAgent = sql`${runsUnderWay(db, agent.seq, time)} < ${mostOfAgent}`
    // The project is asked before the agent, as for the queue.
    const hasRoom = sql<boolean>`case when ${mostOfProject === null ? sql`true` : ofProject}
      then ${mostOfAgent === null ? sql`true` : ofAgent} else false end`
    if (!(await insertIf(db, row, hasRoom))) {
      return (await isProjectFull(db, agent.seq, time)) ? 'project_full' : 'no_place'
    }
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
  if (refusal === 'overloaded') return new BacklogFullError('too many writes are waiting')
  const full =
    refusal === 'project_full'
      ? 'The project runs as many invocations as it may (limits.concurrent_runs): try again soon, or raise the limit'
      : `Agent "${name}" runs ${limits.max_concurrency} invocations already`
  return new ApiError('rate_limited', full, { retry_after: 1 })
}
