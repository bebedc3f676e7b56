export type WebhooksTable = {
  id: string
  agent_id: string | null
  url: string
  /** JSON: an array of names. */
  events: string
  status: string
  disabled_reason: string | null
  description: string | null
  /** Sealed, as is `previous_secret`. */
  secret: string
  secret_hint: string
  previous_secret: string | null
  previous_secret_expires_at: number | null
  /** The first failure since the last success. */
  failing_since: number | null
  created_at: number
  updated_at: number
}

/** Kept as long as one of its deliveries. */
export type EventsTable = {
  id: string
  /** What is sent, to the byte. */
  body: string
}

export type DeliveriesTable = {
  id: string
  webhook_id: string
  event_id: string
  event: string
  status: string
  /** Attempts since it was due first, or asked for again: its place in the retry schedule. */
  tries: number
  attempt_count: number
  /** JSON: the latest attempts. */
  attempts: string
  /** When it is due. Under a lease: when the lease ends, and it is due again. */
  next_attempt_at: number | null
  /** Who sends it at this moment. */
  owner: string | null
  created_at: number
  delivered_at: number | null
}

/** Hear events as webhooks do; the ids stand in `deliveries.webhook_id`. */
export type ListenersTable = {
  id: string
  agent_id: string | null
  /** JSON: an array of names. */
  events: string
  created_by: string
  created_at: number
  expires_at: number
}
