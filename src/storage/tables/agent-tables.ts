import { flag, integer, json, sequence, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

export const agentTables = {
  agents: table({
    /** Stands for the agent's ID in tables with many rows. It is never reused. */
    seq: sequence,
    id: text.unique,
    project_id: text.references('projects'),
    name: text,
    status: text,
    /** 1 if its memory needs background work for `memory.retention_days`, `summarize` or `facts`. */
    own_memory: flag.default(0),
    security: json.nullable,
    auth: json.nullable,
    created_at: time,
    updated_at: time,
    /** Copied from the definition for lists, because a definition can be hundreds of kilobytes long. */
    description: text.nullable,
    /** Copied for the same reason. */
    output_schema: json.default("'null'"),
    /** The agents that its tools call, each with the environment that is used. */
    calls: json.default("'[]'"),
    /** The last column, because it is long (see `Table`). */
    definition: json,
  }).indexes({
    agents_by_name: 'unique (project_id, name)',
    agents_by_created_at: '(project_id, created_at, id)',
    agents_with_memory: '(seq) where own_memory = 1',
  }),
  versions: table({
    agent_id: text.references('agents'),
    version: text,
    digest: text,
    created_at: time,
    /** Copied from the definition, as for agents. */
    output_schema: json.default("'null'"),
    calls: json.default("'[]'"),
    definition: json,
  }).primaryKey('agent_id', 'version'),
  deployments: table({
    id: text.primary,
    agent_id: text.references('agents'),
    environment: text,
    version: text,
    status: text,
    digest: text,
    message: text.nullable,
    created_by: text,
    created_at: time,
    replaces: text.nullable,
    rollback_of: text.nullable,
    /** How many memories the rollback has removed so far. Null if the rollback keeps them. */
    forgotten: integer.nullable,
    /** When their removal began. Null once all are removed and none of the deployment's runs can write more. */
    forgetting: time.nullable,
  }).indexes({
    deployments_by_agent: '(agent_id, created_at, id)',
    deployments_active: "unique (agent_id, environment) where status = 'active'",
    deployments_forgetting: '(id) where forgetting is not null',
  }),
  /**
   * Deployments that get a growing share of the messages, or wait for a replay. The row stays when the deployment
   * serves all messages or is aborted.
   */
  rollouts: table({
    deployment_id: text.primary.references('deployments'),
    agent_id: text.references('agents'),
    environment: text,
    version: text,
    /** The deployment that serves the other messages. */
    serving_id: text.nullable,
    /** Grows with each change but a look, so that a change is made only once. */
    revision: integer,
    /** Of the messages, in hundredths of a percent. */
    share: integer,
    steps: json,
    guard: json,
    on_bad: text,
    /** The set that must pass first, and its replay. */
    require_replay: json.nullable,
    replay_id: text.nullable,
    /** 0 while it waits for the replay. */
    step: integer,
    /** The answers from then on are compared. */
    step_at: time.nullable,
    /** How long the step's clock ran until it was last stopped, and since when it runs. */
    clock_ms: integer,
    clock_at: time.nullable,
    statistics: json.nullable,
    evidence: json.nullable,
    looked_at: time.nullable,
    ended_at: time.nullable,
    /** Random and secret: clients must not be able to compute who gets the candidate. Null for old rows. */
    split_key: text.nullable,
  }).indexes({
    rollouts_in_progress: 'unique (agent_id, environment) where ended_at is null',
    rollouts_by_agent: '(agent_id, deployment_id)',
  }),
  /**
   * Requests of a gradual deployment that have ended, until the guard has counted their answers. Written in the commit
   * of the receipt. No foreign key, because a receipt must be stored even if the deployment is gone.
   */
  rollout_answers: table({ rollout_id: text, request_id: text }).keyedBy('rollout_id', 'request_id'),
  schedules: table({
    id: text.primary,
    agent_id: text.references('agents'),
    name: text.nullable,
    cron: text.nullable,
    timezone: text.nullable,
    every: text.nullable,
    at: time.nullable,
    /** The time from which the intervals of `every` are counted. */
    anchor_at: time,
    message: text,
    attachments: json,
    context: json,
    user_id: text.nullable,
    environment: text,
    overlap: text,
    catch_up: text,
    on_budget: text,
    enabled: flag,
    disabled_reason: text.nullable,
    /** The time of the next tick. */
    next_at: time.nullable,
    /** 1 if the agent was paused at that tick. Nothing happens until it is resumed. */
    parked: flag,
    last_tick_at: time.nullable,
    last_request_id: text.nullable,
    missed: integer,
    last_missed_at: time.nullable,
    last_missed_reason: text.nullable,
    skipped: integer,
    last_skipped_at: time.nullable,
    created_by: text,
    updated_by: text,
    /** The keys that created or changed it, latest last. */
    authors: json,
    created_at: time,
    updated_at: time,
    priority: text.default("'normal'"),
  }).indexes({
    schedules_by_agent: '(agent_id, created_at)',
    schedules_by_next_at: '(next_at) where next_at is not null',
  }),
  /**
   * The files that schedules refer to, derived from the schedules' `attachments`. The sweep of files reads it. A file
   * can be deleted before its schedule.
   */
  schedule_files: table({ file_id: text, schedule_id: text.references('schedules') })
    .primaryKey('file_id', 'schedule_id')
    .indexes({ schedule_files_by_schedule: '(schedule_id)' }),
}
