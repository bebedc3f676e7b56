import { DEFAULT_PROJECT } from '../tables/project-tables.ts'
import type { ColumnTypes } from './engine-columns.ts'

export function agentSchema({ text, integer, sequence }: ColumnTypes): string[] {
  return [
    `create table projects (
      id ${text} primary key,
      name ${text} not null unique,
      description ${text},
      limits ${text} not null,
      stored_bytes ${integer},
      created_at ${integer} not null,
      updated_at ${integer} not null
    )`,
    `insert into projects (id, name, limits, created_at, updated_at) values ('${DEFAULT_PROJECT}', 'default', '{}', 0, 0)`,

    `create table pauses (
      scope ${text} primary key,
      project_id ${text} references projects (id) on delete cascade,
      reason ${text} not null,
      paused_by ${text} not null,
      paused_at ${integer} not null
    )`,

    // The definition is the last column: SQLite reads through a long text to what stands behind it.
    `create table agents (
      seq ${sequence},
      id ${text} not null unique,
      project_id ${text} not null references projects (id) on delete cascade,
      name ${text} not null,
      status ${text} not null,
      own_memory ${integer} not null default 0,
      security ${text},
      auth ${text},
      created_at ${integer} not null,
      updated_at ${integer} not null,
      description ${text},
      output_schema ${text} not null default 'null',
      calls ${text} not null default '[]',
      definition ${text} not null
    )`,
    'create unique index agents_by_name on agents (project_id, name)',
    'create index agents_by_created_at on agents (project_id, created_at, id)',
    'create index agents_with_memory on agents (seq) where own_memory = 1',

    `create table versions (
      agent_id ${text} not null references agents (id) on delete cascade,
      version ${text} not null,
      digest ${text} not null,
      created_at ${integer} not null,
      output_schema ${text} not null default 'null',
      calls ${text} not null default '[]',
      definition ${text} not null,
      primary key (agent_id, version)
    )`,

    `create table deployments (
      id ${text} primary key,
      agent_id ${text} not null references agents (id) on delete cascade,
      environment ${text} not null,
      version ${text} not null,
      status ${text} not null,
      digest ${text} not null,
      message ${text},
      created_by ${text} not null,
      created_at ${integer} not null,
      replaces ${text},
      rollback_of ${text}
    )`,
    'create index deployments_by_agent on deployments (agent_id, created_at, id)',
    `create unique index deployments_active on deployments (agent_id, environment) where status = 'active'`,

    `create table schedules (
      id ${text} primary key,
      agent_id ${text} not null references agents (id) on delete cascade,
      name ${text},
      cron ${text},
      timezone ${text},
      every ${text},
      at ${integer},
      anchor_at ${integer} not null,
      message ${text} not null,
      attachments ${text} not null,
      context ${text} not null,
      user_id ${text},
      environment ${text} not null,
      overlap ${text} not null,
      catch_up ${text} not null,
      on_budget ${text} not null,
      enabled ${integer} not null,
      disabled_reason ${text},
      next_at ${integer},
      parked ${integer} not null,
      last_tick_at ${integer},
      last_request_id ${text},
      missed ${integer} not null,
      last_missed_at ${integer},
      last_missed_reason ${text},
      skipped ${integer} not null,
      last_skipped_at ${integer},
      created_by ${text} not null,
      updated_by ${text} not null,
      authors ${text} not null,
      created_at ${integer} not null,
      updated_at ${integer} not null
    )`,
    'create index schedules_by_agent on schedules (agent_id, created_at)',
    'create index schedules_by_next_at on schedules (next_at) where next_at is not null',

    // The sweep of files asks which of them a schedule names. A file may go before its schedule.
    `create table schedule_files (
      file_id ${text} not null,
      schedule_id ${text} not null references schedules (id) on delete cascade,
      primary key (file_id, schedule_id)
    )`,
    'create index schedule_files_by_schedule on schedule_files (schedule_id)',
  ]
}
