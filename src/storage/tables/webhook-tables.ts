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
    /** Older secrets that still sign deliveries, encrypted, with their expiry times, newest first. */
    earlier_secrets: json,
    /** The time of the first failure since the last success. */
    failing_since: time.nullable,
    /** The key or the person's role that created it. Null for a callback. */
    created_by: text.nullable,
    created_at: time,
    updated_at: time,
    /** Set for a callback, which receives only this run's events. */
    request_id: text.nullable,
    /** The name that the client gave a callback. */
    name: text.nullable,
    /** The format of a callback's payload. Null for a webhook. */
    format: text.nullable,
    /** JSON, encrypted: the headers that the client wants to be sent to a callback. */
    headers: json.nullable,
  }).indexes({
    webhooks_by_agent: '(agent_id, created_at)',
    webhooks_by_project: '(project_id, created_at)',
    webhooks_by_request: '(request_id, id) where request_id is not null',
  }),
  /** Receivers without a URL: a client requests the events. `deliveries.webhook_id` can contain a listener's ID. */
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
    /** The user of that run, or of the budget that the event is about. */
    user_id: text.nullable,
    /** The exact bytes that are sent. */
    body: text,
  }).indexes({
    events_by_user: '(user_id, id) where user_id is not null',
    events_by_request: '(request_id) where request_id is not null',
  }),
  /**
   * There are no foreign keys, because an invocation must not fail if a webhook that it had cached was just deleted. A
   * job removes a deleted webhook's rows.
   */
  deliveries: table({
    id: text.primary,
    webhook_id: text,
    event_id: text,
    event: text,
    status: text,
    /**
     * The number of attempts since the delivery was created or sent again. It is the position in the retry schedule.
     */
    tries: integer,
    attempt_count: integer,
    /** The latest attempts. */
    attempts: json,
    /** When the delivery is due. While it is leased, this is when the lease ends and the delivery is due again. */
    next_attempt_at: time.nullable,
    /** The node that is sending it now. */
    owner: text.nullable,
    created_at: time,
    delivered_at: time.nullable,
  }).indexes({
    deliveries_by_event: '(event_id)',
    // Filters by status and event use this index without reading the rows.
    deliveries_by_webhook: '(webhook_id, id, status, event)',
    // Both indexes contain only unfinished deliveries, so claiming costs the same no matter how long the history gets.
    deliveries_pending: "(webhook_id, next_attempt_at, id) where status = 'pending'",
    deliveries_leased: '(webhook_id, next_attempt_at) where owner is not null',
  }),
}
