import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import { ApiError } from '../errors.ts'
import { withValue } from '../lib/with-value.ts'
import type { Parts } from '../operation/parts.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import { BacklogFullError } from '../storage/journal/journal.ts'

/** Why a run may not begin now. */
export type NotAdmitted = 'paused' | 'no_place' | 'overloaded'

/**
 * Decides whether a run may begin. Everything that starts a run asks here. An admitted run has one of its agent's
 * places, and a place in the journal, so that its entry is always accepted. `leave` gives both back, even for a run
 * that was not admitted. Only an agent with a limit has places that all nodes share; runs of other agents wait for no
 * answer of the database.
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

/** The work of a run is over. Other nodes may use its place before its entry is on disk. */
export function freePlace(run: LiveRun, { places }: Pick<Parts, 'places'>): undefined | Promise<void> {
  return places.release(run)
}

/** Ends a run, whether it was admitted or not. */
export function leave(run: LiveRun, { journal, places }: Pick<Parts, 'journal' | 'places'>): void {
  if (run.hasPlace) journal.release()
  void places.release(run)
  run.end()
}

/** The error for a client that waits for the answer. */
export function notAdmittedError(refusal: NotAdmitted, { name }: Agent, { limits }: Definition): Error {
  if (refusal === 'paused') return new ApiError('agent_paused', `Agent "${name}" is paused`)
  if (refusal === 'overloaded') return new BacklogFullError('too many writes are waiting')
  return new ApiError(
    'rate_limited',
    `Agent "${name}" runs ${limits.max_concurrency} invocations already (limits.max_concurrency)`,
    {
      retry_after: 1,
    },
  )
}
