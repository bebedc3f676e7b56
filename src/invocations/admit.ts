import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import { ApiError } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import type { LiveRun } from '../runtime/live-runs.ts'
import { BacklogFullError } from '../storage/journal/journal.ts'

/** Why a run may not begin now. */
export type NotAdmitted = 'paused' | 'no_place' | 'overloaded'

/**
 * Decides whether a run may begin: whoever starts one asks here. An admitted run has one of its agent's places, and a
 * place in the journal, so that what it leaves is never turned away. `leave` gives both back.
 */
export function admit(
  run: LiveRun,
  { status }: Agent,
  { limits }: Definition,
  { journal, live }: Pick<Parts, 'journal' | 'live'>,
): NotAdmitted | undefined {
  if (status === 'paused') return 'paused'
  if (!journal.reserve()) return 'overloaded'
  if (live.takePlace(run, limits.max_concurrency)) return undefined
  journal.release()
  return 'no_place'
}

/** The end of a run, admitted or not. */
export function leave(run: LiveRun, { journal }: Pick<Parts, 'journal'>): void {
  if (run.hasPlace) journal.release()
  run.end()
}

/** What somebody who waits for the answer hears of a refusal. */
export function notAdmittedError(refusal: NotAdmitted, { name }: Agent, { limits }: Definition): Error {
  if (refusal === 'paused') return new ApiError('agent_paused', `Agent "${name}" is paused`)
  if (refusal === 'overloaded') return new BacklogFullError('too many writes are waiting')
  return new ApiError('rate_limited', `Agent "${name}" runs ${limits.max_concurrency} invocations already`, {
    retry_after: 1,
  })
}
