import type { Step } from '../../runtime/steps.ts'
import type { Database } from '../../storage/database.ts'
import { type Invocation, isFinal } from '../invocation.ts'
import { receiptSteps } from './receipt-steps.ts'
import { listKeptOf } from './step-store.ts'

/** An invocation that has not ended, with the results of its stored steps. */
export function withKept(invocation: Invocation, steps: readonly Step[]): Invocation {
  const asked = steps.filter((step) => step.kind === 'model')
  const input_tokens = asked.reduce((sum, { usage }) => sum + usage.input_tokens, 0)
  const output_tokens = asked.reduce((sum, { usage }) => sum + usage.output_tokens, 0)
  return {
    ...invocation,
    response: asked.map(({ text }) => text).join('') || null,
    steps: receiptSteps(steps),
    input_tokens,
    output_tokens,
    tokens_used: input_tokens + output_tokens,
  }
}

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
