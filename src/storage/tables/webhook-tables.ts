import { integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

export const webhookTables = {
  webhooks: table({
    id: text.primary,
    project_id: text.references('projects'),
    agent_id: text.nullable.references('agents'),
    url: text,
    /** An array of names. */
    events: json,
    status: text,
    disabled_reason: text.nullable,
    description: text.nullable,
    /** Encrypted. */
    secret: text,
    secret_hint: text,
    /** Older secrets that still sign, encrypted, with their expiry times; newest first. */
    earlier_secrets: json,
    /** The time of the first failure since the last success. */
    failing_since: time.nullable,
    /** The key, or the role of a person. Null for a callback. */
    created_by: text.nullable,
    created_at: time,
    updated_at: time,
    /** Set for a callback, which only receives events of this run. */
    request_id: text.nullable,
    /** The name that its caller gave a callback. */
    name: text.nullable,
    /** The form in which a callback receives its data; null for a webhook. */
    format: text.nullable,
    /** JSON, encrypted: the headers that its caller wants a callback to have. */
    headers: json.nullable,
  }).indexes({
    webhooks_by_agent: '(agent_id, created_at)',
    webhooks_by_project: '(project_id, created_at)',
    webhooks_by_request: '(request_id, id) where request_id is not null',
  }),
  /** Listeners receive events as webhooks do. `deliveries.webhook_id` contains their IDs. */
  listeners: table({
    id: text.primary,
    project_id: text.references('projects'),
    agent_id: text.nullable.references('agents'),
    /** An array of names. */
    events: json,
    created_by: text,
    created_at: time,
    expires_at: time,
  }).indexes({ listeners_by_agent: '(agent_id)' }),
  /** An event is kept as long as one of its deliveries. */
  events: table({
    id: text.primary,
    /** The project in which it happened. */
    project_id: text,
    /** The agent that it is about. */
    agent_id: text.nullable,
    /** The run that it is about. */
    request_id: text.nullable,
    /** The user of that run, or of the budget that it is about. */
    user_id: text.nullable,
    /** The exact bytes that are sent. */
    body: text,
  }).indexes({
    events_by_user: '(user_id, id) where user_id is not null',
    events_by_request: '(request_id) where request_id is not null',
  }),
  /**
   * No foreign keys: an invocation must not fail because a webhook that it still remembered has just been deleted. A
   * job removes a deleted webhook's rows.
   */
  deliveries: table({
    id: text.primary,
    webhook_id: text,
    event_id: text,
    event: text,
    status: text,
    /** How many attempts there were since it was created or sent again: its position in the retry schedule. */
    tries: integer,
    attempt_count: integer,
    /** The latest attempts. */
    attempts: json,
    /** When it is due. While it is leased, this is when the lease ends and it is due again. */
    next_attempt_at: time.nullable,
    /** The node that is sending it now. */
    owner: text.nullable,
    created_at: time,
    delivered_at: time.nullable,
  }).indexes({
    deliveries_by_event: '(event_id)',
    // Filters by status and by event read this index and no rows.
    deliveries_by_webhook: '(webhook_id, id, status, event)',
    // Both contain only unfinished deliveries, so claiming costs the same however long the history grows.
    deliveries_pending: "(webhook_id, next_attempt_at, id) where status = 'pending'",
    deliveries_leased: '(webhook_id, next_attempt_at) where owner is not null',
  }),
}
