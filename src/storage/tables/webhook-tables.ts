export type WebhooksTable = {
  id: string
  project_id: string
  agent_id: string | null
  url: string
  /** JSON: an array of names. */
  events: string
  status: string
  disabled_reason: string | null
  description: string | null
  /** Sealed. */
  secret: string
  secret_hint: string
  /** JSON: those that still sign, sealed, with their ends; the newest first. */
  earlier_secrets: string
  /** The time of the first failure since the last success. */
  failing_since: number | null
  /** The key, or the role of a person. Null for a callback. */
  created_by: string | null
  created_at: number
  updated_at: number
  /** Set for a callback, which hears of this run only. */
  request_id: string | null
  /** The name that its caller gave a callback. */
  name: string | null
  /** What a callback is sent; null for a webhook. */
  format: string | null
  /** JSON, sealed: the headers that its caller wants a callback to have. */
  headers: string | null
}

/** An event is kept as long as one of its deliveries. */
export type EventsTable = {
  id: string
  /** The project in which it happened. */
  project_id: string
  /** The agent that it is about. */
  agent_id: string | null
  /** The run that it is about. */
  request_id: string | null
  /** The user of that run, or of the budget that it is about. */
  user_id: string | null
  /** The exact bytes that are sent. */
  body: string
}

export type DeliveriesTable = {
  id: string
  webhook_id: string
  event_id: string
  event: string
  status: string
  /** How many attempts there were since it was created or sent again: its position in the retry schedule. */
  tries: number
  attempt_count: number
  /** JSON: the latest attempts. */
  attempts: string
  /** The time at which it is due. While it is leased, this is the time at which the lease ends and it is due again. */
  next_attempt_at: number | null
  /** The node that is sending it at this moment. */
  owner: string | null
  created_at: number
  delivered_at: number | null
}

/** Listeners receive events as webhooks do. Their ids stand in `deliveries.webhook_id`. */
export type ListenersTable = {
  id: string
  project_id: string
  agent_id: string | null
  /** JSON: an array of names. */
  events: string
  created_by: string
  created_at: number
  expires_at: number
}
