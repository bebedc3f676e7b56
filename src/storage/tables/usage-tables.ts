import { flag, integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/**
 * What models and embedders have used. It is kept when its agent, key or project is deleted, because it was paid for.
 */
export const usageTables = {
  /**
   * One call of a model or an embedder. Missing values are null. IDs begin with the time of the call, so a time range
   * is a range of IDs.
   */
  ledger: table({
    id: text,
    project_id: text,
    agent_seq: integer.nullable,
    agent_id: text.nullable,
    request_id: text.nullable,
    /** The position of the step in its run, and the run's attempt. */
    step: integer.nullable,
    attempt: integer.nullable,
    purpose: text,
    version: text.nullable,
    environment: text.nullable,
    key_id: text.nullable,
    person_id: text.nullable,
    user_id: text.nullable,
    door: text.nullable,
    model: text,
    /** reserved → completed | failed | cancelled | lost. */
    status: text,
    input_tokens: integer,
    cached_tokens: integer,
    cache_write_tokens: integer,
    output_tokens: integer,
    reasoning_tokens: integer,
    /** In billionths of a dollar. Null if there is no price. */
    cost_nano: integer.nullable,
    /** The rates that were used and where they came from. */
    price: json.nullable,
    /** What a reserved line has reserved in each counter. */
    charges: json.nullable,
    /** The node that makes the call of a reserved line, until `lease_until`. */
    owner: text.nullable,
    lease_until: time.nullable,
    created_at: time,
  })
    .keyedBy('id')
    .indexes({
      ledger_by_request: '(request_id) where request_id is not null',
      ledger_by_user: '(user_id, id) where user_id is not null',
      // Few lines are reserved at any time.
      ledger_reserved: "(lease_until) where status = 'reserved'",
    }),
  /**
   * The sums of the lines in `hours` hours (1 or 24) from `start`, which is in hours since the epoch. An empty text
   * stands for null. A row with 0 hours contains an hour's lines that aren't in the other sums yet, and is moved into
   * them.
   */
  usage_sums: table({
    project_id: text,
    hours: integer,
    start: integer,
    agent_id: text,
    version: text,
    environment: text,
    key_id: text,
    person_id: text,
    door: text,
    model: text,
    purpose: text,
    calls: integer,
    input_tokens: integer,
    cached_tokens: integer,
    cache_write_tokens: integer,
    output_tokens: integer,
    reasoning_tokens: integer,
    cost_nano: integer,
    /** How many of the calls have no price. */
    unpriced: integer,
    /** How many of the calls were in progress when their node died. */
    lost: integer,
  })
    .keyedBy(
      'project_id',
      'hours',
      'start',
      'agent_id',
      'version',
      'environment',
      'key_id',
      'person_id',
      'door',
      'model',
      'purpose',
    )
    .indexes({ usage_sums_by_start: '(hours, start)' }),
  /** The prices of models that were set through the API. */
  prices: table({
    project_id: text.references('projects'),
    /** `provider/model`, or `provider/*` for all other models of the provider. */
    model: text,
    /** The rates as they were set. */
    rates: json,
    /** `service` if an actor with access to all projects set the price, otherwise `project`. */
    set_by: text,
    created_at: time,
    updated_at: time,
  }).primaryKey('project_id', 'model'),
  /** How much can be spent in a period. A budget without a project belongs to the whole service. */
  budgets: table({
    id: text.primary,
    project_id: text.nullable.references('projects'),
    agent_id: text.nullable.references('agents'),
    name: text,
    scope_type: text,
    /** The key or the user. Null if each key or user has its own limit. */
    scope_id: text.nullable,
    limit_kind: text,
    /** In billionths of a dollar, tokens or runs. */
    amount: integer,
    per: text,
    timezone: text,
    thresholds: json,
    action: text,
    created_by: text,
    created_at: time,
    updated_at: time,
  }).indexes({
    budgets_by_project: '(project_id, created_at, id)',
    budgets_by_agent: '(agent_id) where agent_id is not null',
  }),
  /**
   * What was spent of a budget in one period. `subject` is the key or the user if each has its own limit, otherwise
   * empty. Calls in progress when their budget is deleted are still settled, so nothing refers to the budget by a
   * foreign key.
   */
  budget_counters: table({
    budget_id: text,
    subject: text,
    period_start: integer,
    used: integer,
    /** The amount held by reserved lines of the ledger. */
    reserved: integer,
    /** The highest threshold for which an event was sent. */
    told: integer,
    /** 1 if an event has reported that the limit was reached. */
    exceeded: flag,
    /**
     * 0 if the counter's user was erased. The counter is removed when nothing in it is reserved, unless that user
     * spends again.
     */
    kept: flag,
  }).keyedBy('budget_id', 'subject', 'period_start'),
}
