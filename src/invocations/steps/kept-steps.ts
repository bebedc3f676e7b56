import { leftBy } from '../../runtime/run-in-progress.ts'
import type { Step } from '../../runtime/steps.ts'
import { readable } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import { type Invocation, isFinal } from '../invocation.ts'
import { receiptSteps } from './receipt-steps.ts'
import { listKept, listKeptRows, readKept } from './step-store.ts'

/** An active invocation, with the results of its stored steps. */
export function withKept(invocation: Invocation, steps: readonly Step[]): Invocation {
  const { response, usage, cost_nano } = leftBy(steps)
  return {
    ...invocation,
    response: response || null,
    steps: receiptSteps(steps),
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    tokens_used: usage.total_tokens,
    cost_nano,
  }
}

/** An invocation as its receipt shows it. An active one has the steps that are stored so far. */
export async function withStepsSoFar(db: Database, invocation: Invocation): Promise<Invocation> {
  return isUnderWay(invocation) ? shown(invocation, (await listKept(db, invocation.id)).steps) : invocation
}

/** The same for a list, without the invocations whose steps are damaged. */
export async function listWithStepsSoFar(db: Database, invocations: readonly Invocation[]): Promise<Invocation[]> {
  const underWay = invocations.filter(isUnderWay).map(({ id }) => id)
  const rows = await listKeptRows(db, underWay)
  return readable(db, invocations, (invocation) => shown(invocation, readKept(rows.get(invocation.id) ?? []).steps))
}

function isUnderWay(invocation: Invocation): boolean {
  return !isFinal(invocation) && invocation.attempt > 0
}

/** The invocation with its steps. The text produced so far isn't the response yet. */
function shown(invocation: Invocation, steps: readonly Step[]): Invocation {
  return steps.length > 0 ? { ...withKept(invocation, steps), response: null } : invocation
}
