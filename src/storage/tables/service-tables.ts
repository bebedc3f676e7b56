import { integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/**
 * A node that reports nothing for this long has died or can't reach the database, so its leases end. A node that hangs
 * for less than that loses nothing.
 */
export const NODE_DEAD_AFTER_MS = 7_000

export const serviceTables = {
  /** Values that the installation stores about itself. */
  settings: table({ name: text.primary, value: text }),
  /** One row for each Idempotency-Key in use. `status` and `body` contain the answer once there is one. */
  claims: table({
    scope: text,
    key: text,
    fingerprint: text,
    owner: text,
    lease_until: time,
    created_at: time,
    /** The project of the request. */
    project_id: text,
    /** The request that first used the key, or the run that the request is about. */
    request_id: text.nullable,
    status: integer.nullable,
    headers: json.nullable,
    body: text.nullable,
  })
    .primaryKey('scope', 'key')
    .indexes({
      claims_by_created_at: '(created_at)',
      // For finding a request's stored reply when its content is erased.
      claims_by_request: '(request_id) where request_id is not null',
    }),
  /**
   * Background work. A job is queued while it has no owner, and running while it has one. At most one job of each kind
   * is queued.
   */
  jobs: table({
    id: text.primary,
    kind: text,
    /** The job runs at or after this time. While it runs, this is when its lease ends and another node can take it. */
    run_at: time,
    owner: text.nullable,
    attempts: integer,
  }).indexes({
    jobs_by_run_at: '(kind, run_at, id)',
    // Only one job of a kind can be queued at a time.
    jobs_waiting: 'unique (kind) where owner is null',
  }),
  /** A serving process as last reported. `busy_percent` is the share of time in which its event loop was busy. */
  nodes: table({
    node: text.primary,
    version: text,
    commit: text.nullable,
    started_at: time,
    seen_at: time,
    runs_live: integer,
    busy_percent: integer,
    memory_bytes: integer,
    /** When another node found it dead. Null again once it reports that it is alive. */
    taken_over_at: time.nullable,
  }),
}
