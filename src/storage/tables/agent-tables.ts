import type { Generated } from 'kysely'

export type AgentsTable = {
  /** Stands for the agent in tables with many rows. It is never reused. */
  seq: Generated<number>
  id: string
  project_id: string
  name: string
  status: string
  definition: string
  /** Of the definition, for lists: a definition may have hundreds of kilobytes. */
  description: Generated<string | null>
  /** As above. JSON. */
  output_schema: Generated<string>
  /** The agents that its tools call, each with the environment that answers. JSON. */
  calls: Generated<string>
  /** 1 if its memory needs work in the background: see `memory.retention_days`, `summarize` and `facts`. */
  own_memory: Generated<number>
  security: string | null
  auth: string | null
  created_at: number
  updated_at: number
}

export type VersionsTable = {
  agent_id: string
  version: string
  definition: string
  /** As of an agent. */
  output_schema: Generated<string>
  calls: Generated<string>
  digest: string
  created_at: number
}

export type DeploymentsTable = {
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

/** What a run begins with, and what its receipt tells of it. */
type AskedColumns = {
  id: string
  agent_seq: number
  status: string
  /** How often its run has begun; 0 while it is queued for the first time. */
  attempt: number
  /** The attempts after the first, each with why it began. JSON; null while there is none. */
  attempts: Generated<string | null>
  background: number
  /** It was asked for with an Idempotency-Key: when its node dies, another goes on with it. */
  keyed: Generated<number>
  /** What it does when a budget has no room: fail or wait. */
  on_budget: Generated<string>
  door: Generated<string>
  environment: string
  version: string | null
  deployment_id: string | null
  message: string
  context: string
  user_id: string | null
  session_id: string | null
  /** The files that came with the message. JSON. */
  attachments: Generated<string | null>
  /** What its caller gave besides the message. JSON. */
  given: Generated<string | null>
  /** The schedule that began it, and the tick that it is for. */
  schedule_id: Generated<string | null>
  /** The keys that made or changed that schedule. JSON. */
  authors: Generated<string | null>
  scheduled_at: Generated<number | null>
  /** The run that called its agent, and the key of that call. */
  parent_request_id: Generated<string | null>
  call_key: Generated<string | null>
  /** Its place among runs that call each other. JSON. */
  tree: Generated<string | null>
  /** When the time that it shares with them is over. Null: each attempt has the whole time of the agent. */
  deadline_at: Generated<number | null>
  created_by: string
  /** The person who began it, with a role or with a key of their own. */
  person_id: string | null
  created_at: number
  started_at: number | null
  /** How long it has run. */
  duration_ms: number | null
}

/** A run that has not ended. */
export type RunsTable = AskedColumns & {
  /** The project of its agent. */
  project_id: string
  /** Why its next attempt will begin, while it is queued: start, wait or lost. */
  begins_after: Generated<string>
  /** The node that runs it, until `lease_until`. */
  owner: string | null
  lease_until: number | null
  cancel_requested_at: number | null
  /** How many nodes have died while they ran it in the background. */
  lapses: Generated<number>
  /** When a waiting run goes on. */
  wake_at: Generated<number | null>
  /** The budget for which it waits, as it was then: when that has changed, the run goes on. Or the runs that it called. */
  waits_for: Generated<string | null>
}

type OutcomeColumns = {
  response: string | null
  /** 1 if the response is JSON that fits what was wanted. */
  structured: Generated<number>
  error: string | null
  input_tokens: number
  output_tokens: number
  tokens_used: number
  /** In billionths of a dollar. Null: a price is not known. */
  cost_nano: number | null
  steps: string
  /** What the model answered, if it ended with calls of the caller's own tools. JSON. */
  rounds: Generated<string | null>
  erased_at: Generated<number | null>
}

/** The receipt of a run that has ended. */
export type InvocationsTable = AskedColumns & OutcomeColumns & { finished_at: number }

/** A view: the receipts, and the runs that have not ended as if they had one. It is only read. */
export type AllInvocationsView = AskedColumns & OutcomeColumns & { finished_at: number | null }

/** The files that schedules name, their own and others. It follows from `attachments` of the schedules. */
export type ScheduleFilesTable = { file_id: string; schedule_id: string }

export type SchedulesTable = {
  id: string
  agent_id: string
  name: string | null
  cron: string | null
  timezone: string | null
  every: string | null
  at: number | null
  /** The time from which the intervals of `every` are counted. */
  anchor_at: number
  message: string
  /** JSON. */
  attachments: string
  /** JSON. */
  context: string
  user_id: string | null
  environment: string
  overlap: string
  catch_up: string
  on_budget: string
  enabled: number
  disabled_reason: string | null
  /** The next tick. */
  next_at: number | null
  /** The agent was paused at that tick, and nothing is done until it runs again. */
  parked: number
  last_tick_at: number | null
  last_request_id: string | null
  missed: number
  last_missed_at: number | null
  last_missed_reason: string | null
  skipped: number
  last_skipped_at: number | null
  created_by: string
  updated_by: string
  /** The keys that made or changed it, the latest last. JSON. */
  authors: string
  created_at: number
  updated_at: number
}

/** What a run has done so far. They are gone when the run ends: its receipt tells them then. */
export type StepsTable = {
  request_id: string
  /** Its position among the run's steps, in the order in which they ended. */
  position: number
  kind: string
  attempt: number
  started_at: number
  finished_at: number
  /** JSON. */
  content: string
  /** JSON: the working copy that answers, with the first step of a run that no version answers. */
  definition: string | null
}

/** What people are asked about a run. A run has pending ones only while it waits. */
export type ApprovalsTable = {
  id: string
  agent_seq: number
  request_id: string
  /** Names the call within its run. A call that people are asked about twice has two rows. */
  call_id: string
  /** The position of the call in the answer that asked for it. */
  call_index: number
  /** The attempt of the run that asked. */
  attempt: number
  kind: string
  tool: string
  /** JSON, without secrets. */
  arguments: string
  /** JSON Schema. */
  input_schema: string
  status: string
  user_id: string | null
  session_id: string | null
  /** Who started the run. */
  started_by: string
  created_at: number
  expires_at: number
  decided_at: number | null
  decided_by: string | null
  /** JSON, without secrets. */
  changed_arguments: string | null
  note: string | null
  answer: string | null
}

export type LogsTable = {
  id: Generated<number>
  agent_seq: number
  timestamp: number
  /** 0 debug, 1 info, 2 warn, 3 error. */
  level: number
  request_id: string
  message: string
  /** JSON, without the request's id. */
  metadata: string
  /** On PostgreSQL: the transaction that stored it. Followers go by it, because ids become visible in any order. */
  written_in: Generated<number>
}

/**
 * An agent's invocations in the minute `start` whose durations fell into one bucket. Each row is moved into the summaries
 * and the histograms of its minute and its hour.
 */
export type RecentMetricsTable = {
  agent_seq: number
  start: number
  bucket: number
  count: number
  errors: number
  sum_ms: number
  max_ms: number
}

/**
 * A summary of an agent's invocations in `minutes` minutes (1 or 60) from `start` on. `start` is in minutes since the
 * epoch.
 */
export type MetricsTable = {
  agent_seq: number
  minutes: number
  start: number
  count: number
  errors: number
  sum_ms: number
  max_ms: number
}

/** The histogram of their durations: how many invocations fell into each bucket. */
export type MetricBucketsTable = { agent_seq: number; minutes: number; start: number; bucket: number; count: number }
