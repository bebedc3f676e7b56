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
    /** Sealed. */
    secret: text,
    secret_hint: text,
    /** Those that still sign, sealed, with their ends; the newest first. */
    earlier_secrets: json,
    /** The time of the first failure since the last success. */
    failing_since: time.nullable,
    /** The key, or the role of a person. Null for a callback. */
    created_by: text.nullable,
    created_at: time,
    updated_at: time,
    /** Set for a callback, which learns of this run only. */
    request_id: text.nullable,
    /** The name that its caller gave a callback. */
    name: text.nullable,
    /** What a callback is sent; null for a webhook. */
    format: text.nullable,
    /** JSON, sealed: the headers that its caller wants a callback to have. */
    headers: json.nullable,
  }).indexes({
    webhooks_by_agent: '(agent_id, created_at)',
    webhooks_by_project: '(project_id, created_at)',
    webhooks_by_request: '(request_id, id) where request_id is not null',
  }),
  /** Listeners receive events as webhooks do. Their ids stand in `deliveries.webhook_id`. */
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
   * No foreign keys: an invocation must not fail because a webhook it still remembered has just been deleted. What a deleted
   * webhook leaves is swept up.
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
    /** The time at which it is due. While it is leased, this is the time at which the lease ends and it is due again. */
    next_attempt_at: time.nullable,
    /** The node that is sending it at this moment. */
    owner: text.nullable,
    created_at: time,
    delivered_at: time.nullable,
  }).indexes({
    deliveries_by_event: '(event_id)',
    // Filters by status and by event read this index and no rows.
    deliveries_by_webhook: '(webhook_id, id, status, event)',
    // Both hold only what is still to do: claiming costs the same however long the history grows.
    deliveries_pending: "(webhook_id, next_attempt_at, id) where status = 'pending'",
    deliveries_leased: '(webhook_id, next_attempt_at) where owner is not null',
  }),
}
