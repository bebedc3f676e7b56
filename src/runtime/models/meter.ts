import { AgentFailure } from '../outcome.ts'
import type { Cost, TokenCount } from './usage.ts'

/** A call of a model that is about to be made. */
export type PlannedCall = {
  model: string
  /** It embeds what is searched for, whatever the meter counts otherwise. */
  purpose?: 'search'
  /** The attempt of the run, and the position of the step that the call is for. Null: it is for none. */
  attempt: number | null
  step: number | null
  /** More input tokens than this cannot be counted. It is asked for only where a budget needs it. */
  mostInputTokens(): number
  /** What the agent and its caller allow. Null: what the model itself does. */
  max_output_tokens: number | null
  /** The agent lets its answer be cut to what is left of a budget. */
  may_cut?: boolean
  /** Until then the call may wait for what others hold. */
  signal?: AbortSignal
}

/** How a call ended. */
export type CallStatus = 'completed' | 'failed' | 'cancelled'

export type MeteredCall = {
  /** The longest answer, which is sent to the provider as a limit. Undefined: as planned. */
  max_output_tokens: number | undefined
  /** Takes what the call has used. Called once, whatever became of it. Returns its cost. */
  end(status: CallStatus, tokens: TokenCount): Cost
}

/** A call that was made outside of this service, and what it is said to have used. */
export type ReportedCall = Pick<PlannedCall, 'model' | 'attempt' | 'step'> & { tokens: TokenCount }

/** Is told of each call of a model before it is made, and what it used afterwards. */
export type Meter = {
  /** Rejects with SpendingRefused if the call may not be made. */
  begin(call: PlannedCall): Promise<MeteredCall>
  /** Counts a call that was made elsewhere. No budget refuses it, because it is spent already. Resolves with its cost. */
  record(call: ReportedCall): Promise<Cost>
}

/** The budget that has no room for a call, in words. */
export type ExhaustedBudget = { budget_id: string; used?: string; limit?: string }

/** When a budget has room again. */
export type BudgetOpening = {
  /** Undefined: that is not known. */
  until: number | undefined
  /** Calls that are in progress hold what is missing, and may give it back at any moment. */
  isHeld: boolean
  /** Names the budget as it is: with any change of it there may be room. */
  state: string
}

/** The call may not be made, because it would cost more than is left. */
export class SpendingRefused extends AgentFailure {
  readonly budget: ExhaustedBudget
  /** Undefined: it never has room for this call. */
  readonly opening: BudgetOpening | undefined

  constructor(message: string, budget: ExhaustedBudget, opening?: BudgetOpening) {
    super(message, budget)
    this.name = 'SpendingRefused'
    this.budget = budget
    this.opening = opening
  }
}
