import type { Generated } from 'kysely'

/** One call of a model or an embedder. What there is not is null. */
export type LedgerTable = {
  id: string
  project_id: string
  agent_seq: number | null
  agent_id: string | null
  request_id: string | null
  /** The position of the step among those of the run, and the attempt of the run. */
  step: number | null
  attempt: number | null
  purpose: string
  version: string | null
  environment: string | null
  key_id: string | null
  person_id: string | null
  user_id: string | null
  door: string | null
  model: string
  /** reserved → completed | failed | cancelled | lost. */
  status: string
  input_tokens: number
  cached_tokens: number
  output_tokens: number
  reasoning_tokens: number
  /** In billionths of a dollar. Null: there is no price. */
  cost_nano: number | null
  /** The rates that were used and where they came from. JSON. */
  price: string | null
  /** What a reserved line holds of which counters. JSON. */
  charges: Generated<string | null>
  /** The node that makes the call of a reserved line, until `lease_until`. */
  owner: Generated<string | null>
  lease_until: Generated<number | null>
  created_at: number
}

/** The lines of one hour, summed. An empty text stands for null. `hour` is in hours since the epoch. */
export type UsageHoursTable = {
  project_id: string
  hour: number
  agent_id: string
  version: string
  environment: string
  key_id: string
  person_id: string
  door: string
  model: string
  purpose: string
  calls: number
  input_tokens: number
  cached_tokens: number
  output_tokens: number
  reasoning_tokens: number
  cost_nano: number
  /** How many of the calls have no price. */
  unpriced: number
}
