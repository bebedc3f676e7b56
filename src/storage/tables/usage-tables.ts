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

/**
 * The lines of `hours` hours (1 or 24) from `start` on, summed. `start` is in hours since the epoch. An empty text stands
 * for null. A row with 0 hours has lines of one hour that are not in the other sums yet: it is moved into them.
 */
export type UsageSumsTable = {
  project_id: string
  hours: number
  start: number
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
  /** How many of them were under way when their node died. */
  lost: number
}

/** The prices of models that were set through the API. */
export type PricesTable = {
  project_id: string
  /** `provider/model`, or `provider/*` for all others of it. */
  model: string
  /** JSON: the rates that were given. */
  rates: string
  /** `service` if an actor of the service set it, else `project`. */
  set_by: string
  created_at: number
  updated_at: number
}

/** How much may be spent in a period. Without a project it is of the whole service. */
export type BudgetsTable = {
  id: string
  project_id: string | null
  agent_id: string | null
  name: string
  scope_type: string
  /** The key or the user. Null with those types: each of them for itself. */
  scope_id: string | null
  limit_kind: string
  /** In billionths of a dollar, tokens or runs. */
  amount: number
  per: string
  timezone: string
  /** JSON. */
  thresholds: string
  action: string
  created_by: string
  created_at: number
  updated_at: number
}

/** What was spent of a budget in one period. `subject` is the key or the user, if each has the limit for itself, or empty. */
export type BudgetCountersTable = {
  budget_id: string
  subject: string
  period_start: number
  used: number
  /** Held by lines of the ledger that are reserved. */
  reserved: number
  /** The highest threshold of which an event has told. */
  told: number
  /** 1: an event has told that the limit was met. */
  exceeded: number
  /** 0: its user was erased. It is removed when nothing is held of it, unless the user asks for room again. */
  kept: number
}
