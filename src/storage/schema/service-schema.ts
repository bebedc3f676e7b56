import type { ColumnTypes } from './engine-columns.ts'

export function serviceSchema({ engine, text, integer, bytes }: ColumnTypes): string[] {
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
      project_id ${text} not null,
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
      run_at ${integer} not null,
      owner ${text},
      attempts ${integer} not null
    )`,
    'create index jobs_by_run_at on jobs (kind, run_at, id)',
    // While one waits, another of its kind is not added.
    'create unique index jobs_waiting on jobs (kind) where owner is null',

    `create table nodes (
      node ${text} primary key,
      version ${text} not null,
      "commit" ${text},
      started_at ${integer} not null,
      seen_at ${integer} not null,
      runs_live ${integer} not null,
      busy_percent ${integer} not null,
      memory_bytes ${integer} not null,
      taken_over_at ${integer}
    )`,

    `create table blobs (
      id ${text} primary key,
      project_id ${text} not null,
      state ${text} not null,
      kept_in ${text} not null,
      sha256 ${text},
      created_at ${integer} not null
    )`,
    `create unique index blobs_by_content on blobs (project_id, sha256) where state = 'kept'`,
    `create index blobs_not_kept on blobs (state, created_at) where state <> 'kept'`,

    // The files of a deleted project are swept up, because their bytes have to go too.
    `create table files (
      id ${text} primary key,
      project_id ${text} not null,
      blob_id ${text} not null references blobs (id),
      name ${text} not null,
      media_type ${text} not null,
      size ${integer} not null,
      sha256 ${text} not null,
      user_id ${text},
      created_by ${text} not null,
      agent_id ${text},
      request_id ${text},
      schedule_id ${text},
      unclaimed ${integer} not null,
      created_at ${integer} not null,
      expires_at ${integer}
    )`,
    'create index files_by_project on files (project_id, id)',
    'create index files_by_user on files (project_id, user_id, id)',
    'create index files_by_type on files (project_id, media_type, id)',
    'create index files_by_maker on files (project_id, created_by, id)',
    'create index files_by_blob on files (blob_id)',
    'create index files_by_request on files (request_id) where request_id is not null',
    'create index files_by_schedule on files (schedule_id) where schedule_id is not null',
    'create index files_unclaimed on files (request_id) where unclaimed = 1',
    'create index files_by_expiry on files (expires_at) where expires_at is not null',

    ...(engine === 'postgres'
      ? [
          `create table blob_chunks (
            blob_id ${text} not null,
            part ${integer} not null,
            bytes ${bytes} not null,
            primary key (blob_id, part)
          )`,
          // Files are compressed already, if they can be.
          'alter table blob_chunks alter column bytes set storage external',
        ]
      : []),
  ]
}
