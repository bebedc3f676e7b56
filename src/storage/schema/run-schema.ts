import type { ColumnTypes } from './engine-columns.ts'

/**
 * What runs write. No table here refers to agents: that would cost every insert a look-up. What a deleted agent leaves
 * is swept up later.
 */
export function runSchema(types: ColumnTypes): string[] {
  return [...invocations(types), ...approvals(types), ...observations(types)]
}

function invocations({ engine, text, integer }: ColumnTypes): string[] {
  return [
    `create table invocations (
      id ${text} primary key,
      agent_seq ${integer} not null,
      status ${text} not null,
      attempt ${integer} not null default 1,
      attempts ${text},
      begins_after ${text} not null default 'start',
      background ${integer} not null,
      environment ${text} not null,
      version ${text},
      deployment_id ${text},
      message ${text} not null,
      context ${text} not null,
      user_id ${text},
      session_id ${text},
      response ${text},
      error ${text},
      input_tokens ${integer} not null,
      output_tokens ${integer} not null,
      tokens_used ${integer} not null,
      cost_nano ${integer},
      duration_ms ${integer},
      steps ${text} not null,
      created_by ${text} not null,
      person_id ${text},
      created_at ${integer} not null,
      started_at ${integer},
      finished_at ${integer},
      owner ${text},
      lease_until ${integer},
      cancel_requested_at ${integer},
      lapses ${integer} not null default 0,
      keyed ${integer} not null default 0,
      on_budget ${text} not null default 'fail',
      wake_at ${integer},
      waits_for ${text},
      schedule_id ${text},
      scheduled_at ${integer},
      authors ${text},
      parent_request_id ${text},
      call_key ${text},
      tree ${text},
      deadline_at ${integer},
      door ${text} not null default 'api',
      given ${text},
      attachments ${text},
      rounds ${text},
      structured ${integer} not null default 0,
      erased_at ${integer}
    )`,
    // Ids begin with the time at which the request came: lists in the order of time are lists in the order of ids.
    'create index invocations_by_agent on invocations (agent_seq, id)',
    'create index invocations_by_status on invocations (agent_seq, status, id)',
    'create index invocations_by_user on invocations (agent_seq, user_id, id) where user_id is not null',
    'create index invocations_by_session on invocations (agent_seq, session_id, id) where session_id is not null',
    'create index invocations_by_schedule on invocations (agent_seq, schedule_id, id) where schedule_id is not null',
    'create index invocations_by_starter on invocations (agent_seq, created_by, id)',
    // A call of an agent begins one run, however often it is made.
    `create unique index invocations_by_parent on invocations (parent_request_id, call_key)
      where parent_request_id is not null`,
    'create index invocations_by_door on invocations (agent_seq, door, id)',
    // For lists of many agents. Most invocations complete, and cost nothing here.
    `create index invocations_not_completed on invocations (status, id, agent_seq) where status <> 'completed'`,
    // Few rows are ever unfinished: these indexes stay small however long the history grows.
    `create index invocations_queued on invocations (agent_seq, id) where status = 'queued'`,
    `create index invocations_running on invocations (lease_until) where status = 'running'`,
    `create index invocations_waiting on invocations (wake_at) where status = 'waiting'`,
    `create index invocations_waiting_for on invocations (waits_for) where status = 'waiting' and waits_for is not null`,
    // What dead nodes have not cancelled is searched for every few seconds. There is hardly ever any.
    `create index invocations_called on invocations (parent_request_id)
      where parent_request_id is not null and cancel_requested_at is null and status in ('queued', 'running', 'waiting')`,
    `create index invocations_uncancelled on invocations (id) where status = 'waiting' and cancel_requested_at is not null`,
    // The metrics of a user are counted from it alone, without the rows.
    `create index invocations_by_end on invocations (agent_seq, user_id, finished_at, status, duration_ms)
      where user_id is not null and finished_at is not null`,

    `create table steps (
      request_id ${text} not null,
      position ${integer} not null,
      kind ${text} not null,
      attempt ${integer} not null,
      started_at ${integer} not null,
      finished_at ${integer} not null,
      content ${text} not null,
      definition ${text},
      primary key (request_id, position)
    )`,
    ...(engine === 'postgres' ? [RUNS_UNDER_WAY, RUNS_OF_PROJECT, INTACT_JSON] : []),
  ]
}

/**
 * Counts after it has the lock of the agent's row: a statement sees what was committed when it began, but what a function
 * asks sees what was committed when it is asked. SQLite has one writer at a time and needs none of this.
 */
const RUNS_UNDER_WAY = `create function runs_under_way(agent bigint, at bigint) returns bigint volatile language plpgsql as $$
  begin
    perform 1 from agents where seq = agent for no key update;
    return (select count(*) from invocations where agent_seq = agent and status = 'running' and lease_until > at);
  end $$`

/** As above. A statement that asks for both asks for the project first, so that two do not wait for each other. */
const RUNS_OF_PROJECT = `create function runs_of_project(project text, at bigint) returns bigint volatile language plpgsql as $$
  begin
    perform 1 from projects where id = project for no key update;
    return (select count(*) from invocations join agents on agents.seq = agent_seq
      where project_id = project and invocations.status = 'running' and lease_until > at);
  end $$`

/** Null instead of an error. PostgreSQL 15 has no other way to ask whether a text is JSON. */
const INTACT_JSON = `create function intact_json(stored text) returns jsonb immutable language plpgsql as $$
  begin
    return stored::jsonb;
  exception when others then
    return null;
  end $$`

function approvals({ text, integer }: ColumnTypes): string[] {
  return [
    `create table approvals (
      id ${text} primary key,
      agent_seq ${integer} not null,
      request_id ${text} not null,
      call_id ${text} not null,
      call_index ${integer} not null,
      attempt ${integer} not null,
      kind ${text} not null,
      tool ${text} not null,
      arguments ${text} not null,
      input_schema ${text} not null,
      status ${text} not null,
      user_id ${text},
      session_id ${text},
      started_by ${text} not null,
      created_at ${integer} not null,
      expires_at ${integer} not null,
      decided_at ${integer},
      decided_by ${text},
      changed_arguments ${text},
      note ${text},
      answer ${text}
    )`,
    'create index approvals_by_request on approvals (request_id, call_id)',
    'create index approvals_by_agent on approvals (agent_seq, id, kind)',
    'create index approvals_by_status on approvals (status, id)',
    'create index approvals_by_user on approvals (user_id, id) where user_id is not null',
    'create index approvals_by_session on approvals (session_id, id) where session_id is not null',
    'create index approvals_by_starter on approvals (started_by, id)',
  ]
}

function observations({ engine, text, integer, sequence, keyed }: ColumnTypes): string[] {
  return [
    `create table logs (
      id ${sequence},
      agent_seq ${integer} not null,
      timestamp ${integer} not null,
      level ${engine === 'postgres' ? 'smallint' : 'integer'} not null,
      request_id ${text} not null,
      message ${text} not null,
      metadata ${text} not null${engine === 'postgres' ? ', written_in bigint not null default pg_current_xact_id()::text::bigint' : ''}
    )`,
    ...(engine === 'postgres' ? ['create index logs_by_transaction on logs (written_in, id)'] : []),
    'create index logs_by_agent on logs (agent_seq, timestamp, id, level)',
    // Most entries are of the level info, which is number 1. The others are found, and counted, without those.
    'create index logs_not_info on logs (agent_seq, timestamp, id, level) where level <> 1',
    engine === 'postgres'
      ? 'create index logs_of_request on logs (request_id, agent_seq)'
      : // The part of the id that its time and its counter make. It grows as the id does, and few requests share it.
        'create index logs_of_request on logs (substr(request_id, 5, 13))',

    `create table metrics (
      agent_seq ${integer} not null,
      minutes ${integer} not null,
      start ${integer} not null,
      count ${integer} not null,
      errors ${integer} not null,
      sum_ms ${integer} not null,
      max_ms ${integer} not null,
      primary key (agent_seq, minutes, start)
    ) ${keyed}`,
    'create index metrics_by_start on metrics (start)',

    `create table metric_buckets (
      agent_seq ${integer} not null,
      minutes ${integer} not null,
      start ${integer} not null,
      bucket ${integer} not null,
      count ${integer} not null,
      primary key (agent_seq, minutes, start, bucket)
    ) ${keyed}`,
    'create index metric_buckets_by_start on metric_buckets (start)',
  ]
}
