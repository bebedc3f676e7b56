import { LOST_LEASE_CODE } from '../postgres/lost-lease.ts'
import type { ColumnTypes } from './engine-columns.ts'

/**
 * What runs write. No table here refers to agents: that would cost every insert a look-up. What a deleted agent leaves
 * is swept up later.
 */
export function runSchema(types: ColumnTypes): string[] {
  return [...invocations(types), ...approvals(types), ...observations(types)]
}

function invocations({ engine, text, integer }: ColumnTypes): string[] {
  /** What a run begins with, and what its receipt tells of it. */
  const asked = `
      id ${text} primary key,
      agent_seq ${integer} not null,
      status ${text} not null,
      attempt ${integer} not null default 1,
      attempts ${text},
      background ${integer} not null,
      keyed ${integer} not null default 0,
      on_budget ${text} not null default 'fail',
      door ${text} not null default 'api',
      environment ${text} not null,
      version ${text},
      deployment_id ${text},
      message ${text} not null,
      context ${text} not null,
      user_id ${text},
      session_id ${text},
      attachments ${text},
      given ${text},
      schedule_id ${text},
      authors ${text},
      scheduled_at ${integer},
      parent_request_id ${text},
      call_key ${text},
      tree ${text},
      deadline_at ${integer},
      created_by ${text} not null,
      person_id ${text},
      created_at ${integer} not null,
      started_at ${integer},
      duration_ms ${integer}`
  return [
    // Runs that have not ended. Such a row is leased and changes; the end of the run deletes it and inserts the receipt.
    `create table runs (${asked},
      project_id ${text} not null,
      begins_after ${text} not null default 'start',
      owner ${text},
      lease_until ${integer},
      cancel_requested_at ${integer},
      lapses ${integer} not null default 0,
      wake_at ${integer},
      waits_for ${text}
    )${engine === 'postgres' ? KEEPS_PAGES : ''}`,
    'create index runs_by_agent on runs (agent_seq, id)',
    'create index runs_by_status on runs (status, agent_seq, id)',
    // A call of an agent begins one run, however often it is made.
    'create unique index runs_by_parent on runs (parent_request_id, call_key) where parent_request_id is not null',
    // Only runs that wait, or are to be cancelled, cost anything here.
    `create index runs_waiting on runs (wake_at) where status = 'waiting'`,
    `create index runs_waiting_for on runs (waits_for) where status = 'waiting' and waits_for is not null`,
    'create index runs_cancelled on runs (cancel_requested_at) where cancel_requested_at is not null',

    // The receipts of runs that have ended. They are inserted once and do not change until they are erased.
    `create table invocations (${asked},
      response ${text},
      structured ${integer} not null default 0,
      error ${text},
      input_tokens ${integer} not null,
      output_tokens ${integer} not null,
      tokens_used ${integer} not null,
      cost_nano ${integer},
      steps ${text} not null,
      rounds ${text},
      finished_at ${integer} not null,
      erased_at ${integer}
    )`,
    // Ids begin with the time at which the request came: lists in the order of time are lists in the order of ids.
    'create index invocations_by_agent on invocations (agent_seq, id)',
    'create index invocations_by_status on invocations (agent_seq, status, id)',
    'create index invocations_by_user on invocations (agent_seq, user_id, id) where user_id is not null',
    'create index invocations_by_session on invocations (agent_seq, session_id, id) where session_id is not null',
    'create index invocations_by_schedule on invocations (agent_seq, schedule_id, id) where schedule_id is not null',
    'create index invocations_by_starter on invocations (agent_seq, created_by, id)',
    `create unique index invocations_by_parent on invocations (parent_request_id, call_key)
      where parent_request_id is not null`,
    'create index invocations_by_door on invocations (agent_seq, door, id)',
    // For lists of many agents. Most invocations complete, and cost nothing here.
    `create index invocations_not_completed on invocations (status, id, agent_seq) where status <> 'completed'`,
    // The metrics of a user are counted from it alone, without the rows.
    `create index invocations_by_end on invocations (agent_seq, user_id, finished_at, status, duration_ms)
      where user_id is not null`,

    // Every invocation as the API shows it, whether it has ended or not.
    `create view all_invocations as
      select ${SHARED}, response, structured, error, input_tokens, output_tokens, tokens_used, cost_nano, steps, rounds,
        finished_at, erased_at from invocations
      union all
      select ${SHARED}, ${of('null', text)}, ${of('0', integer)}, ${of('null', text)}, ${of('0', integer)},
        ${of('0', integer)}, ${of('0', integer)}, ${of('0', integer)}, ${of("'[]'", text)}, ${of('null', text)},
        ${of('null', integer)}, ${of('null', integer)} from runs`,

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
    ...(engine === 'postgres' ? [RUNS_UNDER_WAY, RUNS_OF_PROJECT, INTACT_JSON, LOST_LEASE] : []),
  ]
}

/**
 * Rows come and go, so a vacuum finds the table almost empty. If it gave back the pages, PostgreSQL would plan to read all
 * of so small a table, and keep that plan while the table grows again.
 */
const KEEPS_PAGES = ' with (vacuum_truncate = off)'

/** The columns of both tables. */
const SHARED = `id, agent_seq, status, attempt, attempts, background, keyed, on_budget, door, environment, version,
  deployment_id, message, context, user_id, session_id, attachments, given, schedule_id, authors, scheduled_at,
  parent_request_id, call_key, tree, deadline_at, created_by, person_id, created_at, started_at, duration_ms`

/** Both engines look through the view at the two tables if the types of its columns are the same. */
function of(value: string, type: string): string {
  return type.replace(/^\w+/, (name) => `cast(${value} as ${name})`)
}

/**
 * Counts after it has the lock of the agent's row: a statement sees what was committed when it began, but what a function
 * asks sees what was committed when it is asked. SQLite has one writer at a time and needs none of this.
 */
const RUNS_UNDER_WAY = `create function runs_under_way(agent bigint, at bigint) returns bigint volatile language plpgsql as $$
  begin
    perform 1 from agents where seq = agent for no key update;
    return (select count(*) from runs where agent_seq = agent and status = 'running' and lease_until > at);
  end $$`

/** As above. A statement that asks for both asks for the project first, so that two do not wait for each other. */
const RUNS_OF_PROJECT = `create function runs_of_project(project text, at bigint) returns bigint volatile language plpgsql as $$
  begin
    perform 1 from projects where id = project for no key update;
    return (select count(*) from runs where project_id = project and status = 'running' and lease_until > at);
  end $$`

/** Undoes the statement that calls it, because a lease that it ends is held no more. */
const LOST_LEASE = `create function lost_lease() returns boolean volatile language plpgsql as $$
  begin
    raise exception 'a lease was lost' using errcode = '${LOST_LEASE_CODE}';
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

    // A run adds to one row here. The rows are moved into the sums below within an hour.
    `create table recent_metrics (
      agent_seq ${integer} not null,
      start ${integer} not null,
      bucket ${integer} not null,
      count ${integer} not null,
      errors ${integer} not null,
      sum_ms ${integer} not null,
      max_ms ${integer} not null,
      primary key (agent_seq, start, bucket)
    ) ${keyed}`,

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
