import { AgentFailure } from '../outcome.ts'
import type { Cost, TokenCount } from './usage.ts'

/** A model call that is about to be made. */
export type PlannedCall = {
  model: string
  /** Set if the call embeds a search query, no matter what kind of call the meter usually counts. */
  purpose?: 'search'
  /** The run's attempt, and the position of the step that the call belongs to. Null: none. */
  attempt: number | null
  step: number | null
  /** The most input tokens that the call can have. Called only if a budget needs to know. */
  mostInputTokens(): number
  /** The longest answer that the agent and its caller allow. Null: the model's own limit. */
  max_output_tokens: number | null
  /** Whether the agent allows its answer to be shortened to what is left of a budget. */
  may_cut?: boolean
  /** Until this aborts, the call may wait for amounts that others have reserved. */
  signal?: () => AbortSignal
}

/** The most tokens that a call can use. `byDefault` is the longest answer if nothing else limits it. */
export function mostTokensOf(
  call: Pick<PlannedCall, 'max_output_tokens' | 'mostInputTokens'>,
  byDefault: number,
): { input_tokens: number; output_tokens: number } {
  return {
    input_tokens: wholeOf(call.mostInputTokens()),
    output_tokens: wholeOf(call.max_output_tokens ?? byDefault),
  }
}

/** A caller can't reserve less than nothing, whatever amount it asks for. */
function wholeOf(tokens: number): number {
  return Math.max(0, Math.ceil(tokens)) || 0
}

/** How a call ended. */
export type CallStatus = 'completed' | 'failed' | 'cancelled'

export type MeteredCall = {
  /** The longest answer, sent to the provider as a limit. Undefined: as planned. */
  max_output_tokens: number | undefined
  /** Reports the call's usage. Call it once, no matter how the call ended. Returns the cost. */
  end(status: CallStatus, tokens: TokenCount): Cost
}

/** A call that was made outside of this service, and its reported usage. */
export type ReportedCall = Pick<PlannedCall, 'model' | 'attempt' | 'step'> & { tokens: TokenCount }

/** Is notified of each model call before it is made, and of its usage afterwards. */
export type Meter = {
  /** Rejects with SpendingRefused if the call may not be made. */
  begin(call: PlannedCall): Promise<MeteredCall>
  /**
   * Counts a call that was made elsewhere. Budgets don't refuse it, because the money is already spent. Resolves with
   * its cost.
   */
  record(call: ReportedCall): Promise<Cost>
}

/** The budget that has no room for a call, with its amounts as text. */
export type ExhaustedBudget = { budget_id: string; used?: string; limit?: string }

/** When a budget has room again. */
export type BudgetOpening = {
  /** Undefined if unknown. */
  until: number | undefined
  /** Whether calls in progress have reserved what is missing. They can release it at any moment. */
  isHeld: boolean
  /** Identifies the budget's current state. After any change, there may be room. */
  state: string
}

/** The call can't be made, because it would cost more than is left. */
export class SpendingRefused extends AgentFailure {
  readonly budget: ExhaustedBudget
  /** When there may be room. Undefined if there will never be room for this call. */
  readonly opening: BudgetOpening | undefined

  constructor(message: string, budget: ExhaustedBudget, opening?: BudgetOpening) {
    super(message, budget)
    this.name = 'SpendingRefused'
    this.budget = budget
    this.opening = opening
  }
}
