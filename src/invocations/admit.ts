import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import { ApiError } from '../errors.ts'
import { withValue } from '../lib/with-value.ts'
import type { Parts } from '../operation/parts.ts'
import type { LiveRun } from '../runtime/live-runs.ts'
import { BacklogFullError } from '../storage/journal/journal.ts'

/** Why a run may not begin now. */
export type NotAdmitted = 'paused' | 'no_place' | 'overloaded'

/**
 * Decides whether a run may begin: whoever starts one asks here. An admitted run has one of its agent's places, and a
 * place in the journal, so that what it leaves is never turned away. `leave` gives both back, also to a run that was
 * not admitted. Only an agent with a limit has places that all nodes share; no other waits for an answer.
 */
export function admit(
  run: LiveRun,
  { seq, status }: Agent,
  { limits: { max_concurrency } }: Definition,
  { journal, live, places }: Pick<Parts, 'journal' | 'live' | 'places'>,
): NotAdmitted | undefined | Promise<NotAdmitted | undefined> {
  if (status === 'paused') return 'paused'
  if (!journal.reserve()) return 'overloaded'
  if (!live.takePlace(run, max_concurrency)) {
    journal.release()
    return 'no_place'
  }
  if (max_concurrency === null) return undefined
  return withValue(places.take(run, seq, max_concurrency), (has) => (has ? undefined : 'no_place'))
}

/** The work of a run is over: other nodes may use its place before what it leaves is on disk. */
export function freePlace(run: LiveRun, { places }: Pick<Parts, 'places'>): undefined | Promise<void> {
  return places.release(run)
}

/** The end of a run, admitted or not. */
export function leave(run: LiveRun, { journal, places }: Pick<Parts, 'journal' | 'places'>): void {
  if (run.hasPlace) journal.release()
  void places.release(run)
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
