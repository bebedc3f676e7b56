import { flag, integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/** What models and embedders have used. It stays when its agent, its key or its project is gone: it was paid for. */
export const usageTables = {
  /**
   * One call of a model or an embedder. What there is not is null. Ids begin with the time of the call: a range of time is a
   * range of ids.
   */
  ledger: table({
    id: text,
    project_id: text,
    agent_seq: integer.nullable,
    agent_id: text.nullable,
    request_id: text.nullable,
    /** The position of the step among those of the run, and the attempt of the run. */
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
    /** In billionths of a dollar. Null: there is no price. */
    cost_nano: integer.nullable,
    /** The rates that were used and where they came from. */
    price: json.nullable,
    /** What a reserved line holds of which counters. */
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
      // Few lines are ever reserved.
      ledger_reserved: "(lease_until) where status = 'reserved'",
    }),
  /**
   * The lines of `hours` hours (1 or 24) from `start` on, summed. `start` is in hours since the epoch. An empty text stands
   * for null. A row with 0 hours has lines of one hour that are not in the other sums yet: it is moved into them.
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
    /** How many of them were in progress when their node died. */
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
    /** `provider/model`, or `provider/*` for all others of it. */
    model: text,
    /** The rates that were given. */
    rates: json,
    /** `service` if an actor of the service set it, else `project`. */
    set_by: text,
    created_at: time,
    updated_at: time,
  }).primaryKey('project_id', 'model'),
  /** How much may be spent in a period. Without a project it is of the whole service. */
  budgets: table({
    id: text.primary,
    project_id: text.nullable.references('projects'),
    agent_id: text.nullable.references('agents'),
    name: text,
    scope_type: text,
    /** The key or the user. Null with those types: each of them for itself. */
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
   * What was spent of a budget in one period. `subject` is the key or the user, if each has the limit for itself, or empty.
   * Calls that are in progress when their budget is deleted still settle, so nothing refers to the budget.
   */
  budget_counters: table({
    budget_id: text,
    subject: text,
    period_start: integer,
    used: integer,
    /** Held by lines of the ledger that are reserved. */
    reserved: integer,
    /** The highest threshold of which an event has told. */
    told: integer,
    /** 1: an event has told that the limit was met. */
    exceeded: flag,
    /** 0: its user was erased. It is removed when nothing is held of it, unless the user asks for room again. */
    kept: flag,
  }).keyedBy('budget_id', 'subject', 'period_start'),
}
