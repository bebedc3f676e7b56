import { integer, json, sequence, smallint, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/** What runs log. As in the run tables, nothing refers to agents by a foreign key. */
export const logTables = {
  logs: table({
    id: sequence,
    agent_seq: integer,
    timestamp: time,
    /** 0 debug, 1 info, 2 warn, 3 error. */
    level: smallint,
    request_id: text,
    message: text,
    /** JSON, without the request's ID. */
    metadata: json,
    /**
     * The transaction that stored the entry (PostgreSQL only). Followers use it, because entries become visible in any
     * order of their IDs.
     */
    written_in: integer.default('pg_current_xact_id()::text::bigint').only('postgres'),
  }).indexes({
    logs_by_agent: '(agent_seq, timestamp, id, level)',
    // Most entries have the level info, which is 1. This index finds and counts the others.
    logs_not_info: '(agent_seq, timestamp, id, level) where level <> 1',
    logs_of_request: {
      postgres: '(request_id, agent_seq)',
      // The part of the ID that contains its time and counter. It grows with the ID, and few requests share it.
      sqlite: '(substr(request_id, 5, 13))',
    },
    logs_by_transaction: { postgres: '(written_in, id)' },
  }),
  /**
   * An agent's invocations in the minute `start` whose durations fall into one bucket, as nodes of 0.1.0 count them.
   * Each row is moved into the summaries and histograms of its minute and its hour.
   */
  recent_metrics: table({
    agent_seq: integer,
    start: integer,
    bucket: integer,
    count: integer,
    errors: integer,
    sum_ms: integer,
    max_ms: integer,
  }).keyedBy('agent_seq', 'start', 'bucket'),
  /**
   * A summary of an agent's invocations during `minutes` minutes (1 or 60) from `start`, which is in minutes since the
   * epoch.
   */
  metrics: table({
    agent_seq: integer,
    minutes: integer,
    start: integer,
    count: integer,
    errors: integer,
    sum_ms: integer,
    max_ms: integer,
  })
    .keyedBy('agent_seq', 'minutes', 'start')
    .indexes({ metrics_by_start: '(start)' }),
  /** The histogram of their durations, for what nodes of 0.1.0 have counted. */
  metric_buckets: table({
    agent_seq: integer,
    minutes: integer,
    start: integer,
    bucket: integer,
    count: integer,
  })
    .keyedBy('agent_seq', 'minutes', 'start', 'bucket')
    .indexes({ metric_buckets_by_start: '(start)' }),
  /**
   * The histogram of durations by version: an agent's invocations during `minutes` minutes (1 or 60) from `start` whose
   * durations fall into one bucket. A row with 0 minutes covers one minute and isn't included in any other sum yet. An
   * empty text stands for null.
   */
  version_metrics: table({
    agent_seq: integer,
    minutes: integer,
    start: integer,
    environment: text,
    version: text,
    deployment_id: text,
    bucket: integer,
    count: integer,
    errors: integer,
    sum_ms: integer,
    max_ms: integer,
    tokens: integer,
    /** In billionths of a dollar. */
    cost_nano: integer,
    /** How many of the invocations have no known cost. */
    unpriced: integer,
  })
    .keyedBy('agent_seq', 'minutes', 'start', 'environment', 'version', 'deployment_id', 'bucket')
    .indexes({ version_metrics_by_start: '(minutes, start)' }),
}
