import { setTimeout as delay } from 'node:timers/promises'
import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/live-runs.ts'
import { isPassing } from '../../storage/failures.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import { BacklogFullError } from '../../storage/journal/journal.ts'
import { CANCELLED, endWith } from '../invocation.ts'
import { effects, runInvocation } from '../run-invocation.ts'
import * as invocations from '../store.ts'
import { giveBack, type TakenRun } from './queue-store.ts'

const MAX_LAPSES = 10
const COMMIT_AGAIN_MS = 500

const GIVEN_UP = {
  code: 'server_error',
  message: 'The service could not finish the run, however often it tried',
} as const

/** A run from the queue that has its place. */
export type Queued = TakenRun & { agent: Agent; definition: Definition; run: LiveRun }

/**
 * Runs an invocation that was queued. Cut short by a stop of the service, it waits at its old place in the queue. Cut
 * short by a crash, it starts over when its lease ends, here or on another node, unless that happened too often.
 */
export async function runQueued(queued: Queued, stop: AbortSignal, parts: Parts): Promise<void> {
  const { invocation, lapses, lease, run } = queued
  if (lapses >= MAX_LAPSES) return endUnrun(queued, 'failed', parts)
  const ended = await runInvocation({ ...queued, owner: lease.owner, stored: true, streaming: true }, parts)
  if (stop.aborted && ended.invocation.status === 'cancelled')
    return giveBack(parts.storage.db, lease, invocation.attempt)
  await commitPatiently(ended.entry, run, parts)
}

/** Ends an invocation without running it: it was given up, or its agent was paused meanwhile. */
export async function endUnrun(queued: Queued, status: 'failed' | 'cancelled', parts: Parts): Promise<void> {
  const { invocation, agent, definition, lease } = queued
  const ended = endWith(invocation, status, status === 'failed' ? GIVEN_UP : CANCELLED, parts.now())
  const writes = await effects(ended, agent, definition, [], parts)
  await commitPatiently({ writes, endings: [invocations.ending(ended, lease.owner)] }, queued.run, parts)
}

/** Nobody waits for the answer: while the database is away and the lease holds, what was done is kept for when it is back. */
async function commitPatiently(entry: JournalEntry, { lease }: LiveRun, { journal, now }: Parts): Promise<void> {
  for (;;) {
    try {
      await journal.commit(entry)
      return
    } catch (error) {
      const canWait = isPassing(error) || error instanceof BacklogFullError
      if (!canWait || lease === undefined || lease.until <= now()) throw error
      await delay(COMMIT_AGAIN_MS, undefined, { ref: false })
    }
  }
}
