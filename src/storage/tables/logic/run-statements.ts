import { LOST_LEASE_CODE } from '../../postgres/lost-lease.ts'

/**
 * Counts an agent's active runs after locking the agent's row. A plain statement sees only what was committed when it
 * began, but a function's query sees what was committed when that query began. SQLite has one writer at a time and
 * doesn't need this.
 */
const RUNS_UNDER_WAY = `create function runs_under_way(agent bigint, at bigint) returns bigint volatile language plpgsql as $$
  begin
    perform 1 from agents where seq = agent for no key update;
    return (select count(*) from runs where agent_seq = agent and status = 'running' and lease_until > at);
  end $$`

/**
 * The same for a project. A statement that needs both locks the project first, so that two statements can't wait for
 * each other.
 */
const RUNS_OF_PROJECT = `create function runs_of_project(project text, at bigint) returns bigint volatile language plpgsql as $$
  begin
    perform 1 from projects where id = project for no key update;
    return (select count(*) from runs where project_id = project and status = 'running' and lease_until > at);
  end $$`

/** Undoes the statement that calls it, because a lease that the statement would end is no longer held. */
const LOST_LEASE = `create function lost_lease() returns boolean volatile language plpgsql as $$
  begin
    raise exception 'a lease was lost' using errcode = '${LOST_LEASE_CODE}';
  end $$`

/** Returns null for text that isn't JSON, instead of failing. PostgreSQL 15 has no other way to check this. */
const INTACT_JSON = `create function intact_json(stored text) returns jsonb immutable language plpgsql as $$
  begin
    return stored::jsonb;
  exception when others then
    return null;
  end $$`

/**
 * Prevents a run that starts while the turn is being passed on from overtaking the runs in line, which the index alone
 * would allow. The trigger checks after the insert, when it sees every run that got in line behind the previous one.
 */
const BEGINS = 'new.session_key is not null and new.place is null'
const IN_LINE = 'select 1 from runs where session_key = new.session_key and place is not null'

const SQLITE_ORDER = [
  `create trigger runs_in_order after insert on runs when ${BEGINS} begin
    select raise(abort, 'UNIQUE turn: runs of this session are in line') where exists (${IN_LINE}); end`,
]

const POSTGRES_ORDER = [
  `create function refuse_to_overtake() returns trigger language plpgsql as $$ begin
    if exists (${IN_LINE}) then
      raise exception 'runs of this session are in line' using errcode = 'unique_violation';
    end if;
    return null;
  end $$`,
  `create trigger runs_in_order after insert on runs for each row when (${BEGINS}) execute function refuse_to_overtake()`,
]

/** The functions and triggers of the table `runs`. */
export const RUN_STATEMENTS = {
  sqlite: SQLITE_ORDER,
  postgres: [RUNS_UNDER_WAY, RUNS_OF_PROJECT, INTACT_JSON, LOST_LEASE, ...POSTGRES_ORDER],
}
