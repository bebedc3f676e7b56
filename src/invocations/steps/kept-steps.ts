import type { Database } from '../../storage/database.ts'
import { type Invocation, isFinal, withKept } from '../invocation.ts'
import { listKeptOf } from './step-store.ts'

/** Invocations as their receipts show them. Those that have not ended have the steps that are stored so far. */
export async function withKeptSteps(db: Database, invocations: readonly Invocation[]): Promise<Invocation[]> {
  const unfinished = invocations.filter((invocation) => !isFinal(invocation) && invocation.attempt > 0)
  const kept = await listKeptOf(
    db,
    unfinished.map(({ id }) => id),
  )
  return invocations.map((invocation) => {
    const { steps } = kept.get(invocation.id) ?? {}
    // The text so far is not the response yet.
    return steps ? { ...withKept(invocation, steps), response: null } : invocation
  })
}
