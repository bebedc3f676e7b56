import type { Parts } from '../../operation/parts.ts'
import type { TokenRun } from '../../security/run-token.ts'
import { findAttempt } from '../find-invocations.ts'

/**
 * Whether the attempt that a token belongs to is still active on any node. The token says when the attempt's time is
 * over, and the stored run says whether it has ended. A check of a remote agent isn't a run and has no row, so it ends
 * only with its time.
 */
export async function isUnderWay(
  { request_id, attempt, until }: TokenRun,
  { storage, runtime, now }: Pick<Parts, 'storage' | 'runtime' | 'now'>,
): Promise<boolean> {
  if (now() >= until) return false
  if (runtime.isTakingSteps({ request_id, attempt })) return true
  const stored = await findAttempt(storage.db, request_id)
  return !stored || (stored.status === 'running' && stored.attempt === attempt)
}
