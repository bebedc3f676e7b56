import type { ColumnTypes } from './engine-columns.ts'

export function serviceSchema({ text, integer }: ColumnTypes): string[] {
  return [
    `create table settings (
      name ${text} primary key,
      value ${text} not null
    )`,

    `create table claims (
      scope ${text} not null,
      key ${text} not null,
      fingerprint ${text} not null,
      owner ${text} not null,
      lease_until ${integer} not null,
      created_at ${integer} not null,
      request_id ${text},
      status ${integer},
      headers ${text},
      body ${text},
      primary key (scope, key)
    )`,
    'create index claims_by_created_at on claims (created_at)',
    // The stored reply of a request is found when what it tells is erased.
    'create index claims_by_request on claims (request_id) where request_id is not null',

    `create table jobs (
      id ${text} primary key,
      kind ${text} not null,
      key ${text},
      payload ${text} not null,
      run_at ${integer} not null,
      owner ${text},
      attempts ${integer} not null,
      error ${text},
      failed_at ${integer}
    )`,
    'create index jobs_by_run_at on jobs (kind, run_at, id) where failed_at is null',
    'create unique index jobs_by_key on jobs (kind, key) where owner is null and failed_at is null',

    `create table nodes (
      node ${text} primary key,
      version ${text} not null,
      started_at ${integer} not null,
      seen_at ${integer} not null,
      runs_live ${integer} not null,
      busy_percent ${integer} not null,
      memory_bytes ${integer} not null
    )`,
  ]
}
