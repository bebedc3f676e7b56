import type { Spender } from '../operation/spending.ts'
import type { CallStatus } from '../runtime/models/meter.ts'
import type { Cost } from '../runtime/models/usage.ts'

/**
 * One call of a model or an embedder: on whose behalf it was made, its usage and its cost. A reserved line is a call
 * that may be in progress. It is lost if its node died, because it is unknown whether it was answered.
 */
export type LedgerLine = Spender & {
  id: string
  step: number | null
  attempt: number | null
  model: string
  status: CallStatus | 'reserved' | 'lost'
  input_tokens: number
  cached_tokens: number
  cache_write_tokens: number
  output_tokens: number
  reasoning_tokens: number
  cost_nano: Cost
  /** JSON: the rates that were used and where they came from. */
  price: string | null
  created_at: number
}
