import type { Generated } from 'kysely'

/** The schema, the same on both engines: times are epoch milliseconds, flags 0/1, JSON is text. */
export type Tables = {
  settings: SettingsTable
  agents: AgentsTable
  keys: KeysTable
  claims: ClaimsTable
}

/** What the installation must remember about itself. */
type SettingsTable = { name: string; value: string }

type AgentsTable = {
  /** Stands for the agent in tables with many rows; never reused. */
  seq: Generated<number>
  id: string
  name: string
  status: string
  definition: string
  security: string | null
  auth: string | null
  created_at: number
  updated_at: number
}

type KeysTable = {
  id: string
  name: string
  agent_id: string | null
  permissions: string
  role: string | null
  tier: string
  hint: string
  hash: string
  previous_hash: string | null
  previous_secret_expires_at: number | null
  created_at: number
  created_by: string
  expires_at: number | null
  last_used_at: number | null
  revoked_at: number | null
}

/** One row for each Idempotency-Key in use; `status` and `body` are the answer once there is one. */
type ClaimsTable = {
  scope: string
  key: string
  fingerprint: string
  owner: string
  lease_until: number
  created_at: number
  status: number | null
  headers: string | null
  body: string | null
}
