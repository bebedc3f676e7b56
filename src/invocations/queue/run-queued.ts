import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { commitPatiently } from '../../storage/journal/commit-patiently.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import { effects } from '../effects/effects.ts'
import { CANCELLED, endWith } from '../invocation.ts'
import * as rows from '../rows/invocation-rows.ts'
import { type RunParts, runInvocation } from '../run-invocation.ts'
import { finish, type RunEnd } from '../runs.ts'
import { withKept } from '../steps/kept-steps.ts'
import { logsOf } from '../steps/step-store.ts'
import type { Started } from '../steps/stored-run.ts'
import type { TakenRun } from './queue-store.ts'

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
  const { lapses, lease } = queued
  if (lapses >= MAX_LAPSES) return endUnrun(queued, 'failed', parts)
  const end = await runInvocation({ ...queued, owner: lease.owner, streaming: true, stop }, parts)
  await commit(end, queued, parts)
  if (end.kind === 'moved') throw end.cause
}

type EndParts = Parameters<typeof finish>[3]

async function commit(end: RunEnd, queued: Queued, parts: EndParts): Promise<void> {
  const write = async (entry: JournalEntry) => (await commitPatiently(entry, queued.run.lease, parts)) || undefined
  await finish(end, queued, write, parts)
}

/** Ends an invocation without running it: it failed too often, its agent was paused, or the run that called it has ended. */
export async function endUnrun(
  queued: Queued,
  status: 'failed' | 'cancelled',
  parts: EndParts & Pick<Parts, 'events' | 'newId'>,
): Promise<void> {
  const { agent, definition, lease, kept } = queued
  const error = status === 'failed' ? GIVEN_UP : CANCELLED
  const invocation = endWith(withKept(queued.invocation, kept), status, error, parts.now())
  const writes = await effects(invocation, agent, definition, logsOf(kept), parts)
  const ending = rows.ending(invocation.id, lease.owner, kept.length > 0)
  const entry = { writes: [rows.receiptWrite(invocation), ...writes], endings: [ending], reserved: true }
  await commit({ kind: 'ended', invocation, entry, storeSpending: async () => {} }, queued, parts)
}
