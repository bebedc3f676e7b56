import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { commitPatiently } from '../../storage/journal/commit-patiently.ts'
import { cancelBelow } from '../children/child-store.ts'
import { effects } from '../effects/effects.ts'
import { CANCELLED, endWith } from '../invocation.ts'
import * as rows from '../rows/invocation-rows.ts'
import { type RunParts, runInvocation } from '../run-invocation.ts'
import { withKept } from '../steps/kept-steps.ts'
import { logsOf } from '../steps/step-store.ts'
import type { Started } from '../steps/stored-run.ts'
import { giveBack, type TakenRun } from './queue-store.ts'

export const MAX_LAPSES = 10

const GIVEN_UP = {
  code: 'server_error',
  message: 'The service could not finish the run, however often it tried',
} as const

/** A run from the queue that has a place, and its stored steps. */
export type Queued = TakenRun & { agent: Agent; definition: Definition; run: LiveRun } & Pick<
    Started,
    'kept' | 'nextPosition'
  >

/**
 * Runs a queued invocation. If the service stops, it waits at its old position in the queue. If the node dies, it goes
 * on after its last step when its lease ends, here or on another node, unless that has happened too often without a new
 * step.
 */
export async function runQueued(queued: Queued, stop: AbortSignal, parts: RunParts): Promise<void> {
  const { lapses, lease, run } = queued
  if (lapses >= MAX_LAPSES) {
    await endUnrun(queued, 'failed', parts)
    return
  }
  const done = await runInvocation({ ...queued, owner: lease.owner, streaming: true }, parts)
  if (stop.aborted && done.invocation.status === 'cancelled') {
    await done.leave()
    await giveBack(parts.storage.db, lease)
    return
  }
  // It may be woken and taken again, also by this node, as soon as this is on disk.
  if (done.invocation.status === 'waiting') run.abandon()
  let written = false
  try {
    written = await commitPatiently(done.entry, run.lease, parts)
  } finally {
    if (!written) void done.leave()
  }
  if (!written || done.invocation.status === 'waiting') return
  parts.telemetry.countRun(done.invocation.status, queued.definition.kind, queued.agent.project_id)
  await endCalled(queued, parts)
}

/** A run that has ended needs no answer of those that it called. */
async function endCalled(
  { definition, invocation: { id, attempt } }: Queued,
  { now, storage }: EndParts,
): Promise<void> {
  if (attempt === 1 || !definition.tools.some(({ type }) => type === 'agent')) return
  await storage.transaction((db) => cancelBelow(db, id, now()))
}

type EndParts = Pick<Parts, 'now' | 'storage'>

/** Ends an invocation without running it: it failed too often, its agent was paused, or the run that called it has ended. */
export async function endUnrun(
  queued: Queued,
  status: 'failed' | 'cancelled',
  parts: EndParts & Pick<Parts, 'events' | 'journal' | 'newId'>,
): Promise<void> {
  const { invocation, agent, definition, lease, kept } = queued
  const error = status === 'failed' ? GIVEN_UP : CANCELLED
  const ended = endWith(withKept(invocation, kept), status, error, parts.now())
  const writes = await effects(ended, agent, definition, logsOf(kept), parts)
  const ending = rows.ending(ended.id, lease.owner, kept.length > 0)
  await commitPatiently(
    { writes: [rows.receiptWrite(ended), ...writes], endings: [ending], reserved: true },
    lease,
    parts,
  )
  await endCalled(queued, parts)
}
