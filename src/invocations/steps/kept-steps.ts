import type { Database } from '../../storage/database.ts'
import { type Invocation, isFinal, withKept } from '../invocation.ts'
import { listKeptOf } from './step-store.ts'

/** Invocations as their receipts show them: of those that have not ended, with the steps that are kept so far. */
export async function withKeptSteps(db: Database, invocations: readonly Invocation[]): Promise<Invocation[]> {
  const unfinished = invocations.filter((invocation) => !isFinal(invocation) && invocation.attempt > 0)
  const kept = await listKeptOf(
    db,
    unfinished.map(({ id }) => id),
  )
  return invocations.map((invocation) => {
    const { steps } = kept.get(invocation.id) ?? {}
    // What it has said so far is not its response yet.
    return steps ? { ...withKept(invocation, steps), response: null } : invocation
  })
}
