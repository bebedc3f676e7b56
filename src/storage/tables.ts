import type { Generated } from 'kysely'

/** The schema, the same on both engines: times are epoch milliseconds, flags 0/1, JSON is text. */
export type Tables = {
  settings: SettingsTable
  agents: AgentsTable
  keys: KeysTable
  claims: ClaimsTable
  versions: VersionsTable
  deployments: DeploymentsTable
  invocations: InvocationsTable
  jobs: JobsTable
  logs: LogsTable
  metrics: MetricsTable
  metric_buckets: MetricBucketsTable
  memories: MemoriesTable
  memory_vectors: MemoryVectorsTable
  memory_scopes: MemoryScopesTable
  webhooks: WebhooksTable
  events: EventsTable
  deliveries: DeliveriesTable
  key_factors: KeyFactorsTable
  audit_log: AuditLogTable
  audit_chain: AuditChainTable
  secrets: SecretsTable
  listeners: ListenersTable
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

type VersionsTable = {
  agent_id: string
  version: string
  definition: string
  digest: string
  created_at: number
}

type DeploymentsTable = {
  id: string
  agent_id: string
  environment: string
  version: string
  status: string
  digest: string
  message: string | null
  created_by: string
  created_at: number
  replaces: string | null
  rollback_of: string | null
}

type InvocationsTable = {
  id: string
  agent_seq: number
  status: string
  /** How often its run has begun; 0 while it is queued for the first time. */
  attempt: number
  background: number
  environment: string
  version: string | null
  deployment_id: string | null
  message: string
  context: string
  user_id: string | null
  session_id: string | null
  response: string | null
  error: string | null
  input_tokens: number
  output_tokens: number
  tokens_used: number
  duration_ms: number | null
  steps: string
  created_by: string
  created_at: number
  started_at: number | null
  finished_at: number | null
  /** The node that runs it, until `lease_until`. */
  owner: string | null
  lease_until: number | null
  cancel_requested_at: number | null
  /** How often the node that ran it in the background has died. */
  lapses: Generated<number>
}

type WebhooksTable = {
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
type EventsTable = {
  id: string
  /** What is sent, to the byte. */
  body: string
}

type DeliveriesTable = {
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

/** Work for later. Queued while it has no owner, running while it has one, failed once `failed_at` is set. */
type JobsTable = {
  id: string
  kind: string
  /** At most one job of a kind waits under a key. */
  key: string | null
  payload: string
  /** Not before this time; of a running job, when its lease ends and another may take it. */
  run_at: number
  owner: string | null
  attempts: number
  /** What went wrong last. */
  error: string | null
  failed_at: number | null
}

type LogsTable = {
  id: Generated<number>
  agent_seq: number
  timestamp: number
  /** 0 debug, 1 info, 2 warn, 3 error. */
  level: number
  request_id: string
  message: string
  /** JSON, without the request's id. */
  metadata: string
}

/** What an agent's invocations came to in `minutes` minutes (1 or 60) from `start` on, in minutes since the epoch. */
type MetricsTable = {
  agent_seq: number
  minutes: number
  start: number
  count: number
  errors: number
  sum_ms: number
  max_ms: number
}

/** How many of them took about as long: their histogram. */
type MetricBucketsTable = { agent_seq: number; minutes: number; start: number; bucket: number; count: number }
/** SQLite indexes it in `memory_index`, PostgreSQL in its column `lexemes`. */
type MemoriesTable = {
  seq: Generated<number>
  id: string
  agent_seq: number
  kind: string
  role: string | null
  /** Empty for none, as is `session_id`: nothing that is not null must be equal to it. */
  user_id: string
  session_id: string
  content: string
  metadata: string
  /** What it is found by, parted by spaces, and how many there are. */
  terms: string
  length: number
  created_at: number
  /** The newer fact about the same thing: this one is not found any more. */
  superseded_by: Generated<string | null>
}

/** What an agent (level 0), one of its users (1) or one of their sessions (2) has to remember. */
type MemoryScopesTable = {
  agent_seq: number
  level: number
  /** Empty above its level. */
  user_id: string
  session_id: string
  /** Another one after every removal and change. */
  generation: string
  turns: number
  notes: number
  /** How many terms they have in all. */
  turn_terms: number
  note_terms: number
  last_at: number
  /** Facts were extracted from the memories up to this one. */
  facts_through: Generated<number>
}

type MemoryVectorsTable = {
  memory_seq: number
  model: string
  /** Base64 of 32-bit floats, little-endian, of unit length. */
  vector: string
}

/** The second factors of keys: one in force, and one that waits for its first code. */
type KeyFactorsTable = {
  key_id: string
  status: string
  secret: string
  last_step: number | null
  wrong_codes: number
  locked_until: number | null
  /** Grows with every change, so that nobody writes over a state they have not read. */
  version: number
  created_at: number
  created_by: string
}

/** `seq` and the hashes are null until the entry has its place in the chain. */
type AuditLogTable = {
  position: Generated<number>
  id: string
  created_at: number
  actor_kind: string | null
  actor: string | null
  action: string | null
  agent_id: string | null
  target: string | null
  outcome: string
  code: string | null
  fields: string
  times: number
  request_id: string
  address: string | null
  seq: number | null
  prev_hash: string | null
  hash: string | null
}

/** `head` is the last entry of the chain, `tail` the last one that was removed from its beginning. */
type AuditChainTable = { name: string; seq: number; hash: string }

/** What tools use as `{{secret.NAME}}`, beside those of the configuration. */
type SecretsTable = {
  name: string
  /** Sealed. */
  value: string
  /** JSON: an array of hosts. */
  hosts: string
  created_at: number
  updated_at: number
}

/** Hear events as webhooks do; the ids stand in `deliveries.webhook_id`. */
type ListenersTable = {
  id: string
  agent_id: string | null
  /** JSON: an array of names. */
  events: string
  created_by: string
  created_at: number
  expires_at: number
}
