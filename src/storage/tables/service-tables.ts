import type { Generated } from 'kysely'

/** The steps of the schema that this store has. `breaks`: programs that do not know the step cannot use the store. */
export type MigrationsTable = { name: string; breaks: number; migrated_at: number }

/** Values that the installation stores about itself. */
export type SettingsTable = { name: string; value: string }

/** One row for each Idempotency-Key in use. `status` and `body` are the answer once there is one. */
export type ClaimsTable = {
  scope: string
  key: string
  fingerprint: string
  owner: string
  lease_until: number
  created_at: number
  /** The project in which it was asked. */
  project_id: string
  /** The request that first came with the key, or the run that the request is about. */
  request_id: Generated<string | null>
  status: number | null
  headers: string | null
  body: string | null
}

/**
 * Work for later. A job is queued while it has no owner, and running while it has one. At most one of a kind is queued.
 */
export type JobsTable = {
  id: string
  kind: string
  /**
   * The job runs at or after this time. While it runs, this is the time at which its lease ends and another node may
   * take it.
   */
  run_at: number
  owner: string | null
  attempts: number
}

/** A process that serves, as it last told: `busy_percent` is how much of the time its event loop worked. */
export type NodesTable = {
  node: string
  version: string
  commit: string | null
  started_at: number
  seen_at: number
  runs_live: number
  busy_percent: number
  memory_bytes: number
  /** When another node noticed that it had died. Null again as soon as it tells that it lives. */
  taken_over_at: number | null
}

/** How many invocations and log entries an agent has. Triggers write it, with the rows. */
export type AgentCountsTable = { agent_seq: number; counted: string; rows: number }
