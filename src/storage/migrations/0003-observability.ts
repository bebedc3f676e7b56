import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

export const observability: Migration = async (db, engine) => {
  const { text, integer, sequence } = columns(engine)

  await db.schema
    .createTable('jobs')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('key', text)
    .addColumn('payload', text, (column) => column.notNull())
    .addColumn('run_at', integer, (column) => column.notNull())
    .addColumn('owner', text)
    .addColumn('attempts', integer, (column) => column.notNull())
    .addColumn('error', text)
    .addColumn('failed_at', integer)
    .execute()
  await db.schema
    .createIndex('jobs_by_run_at')
    .on('jobs')
    .columns(['kind', 'run_at', 'id'])
    .where(sql.ref('failed_at'), 'is', null)
    .execute()
  await db.schema
    .createIndex('jobs_by_key')
    .unique()
    .on('jobs')
    .columns(['kind', 'key'])
    .where(sql.ref('owner'), 'is', null)
    .where(sql.ref('failed_at'), 'is', null)
    .execute()

  // As with invocations, no foreign key to agents in what every invocation writes.
  await db.schema
    .createTable('logs')
    .addColumn('id', sequence)
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('timestamp', integer, (column) => column.notNull())
    .addColumn('level', engine === 'postgres' ? 'smallint' : 'integer', (column) => column.notNull())
    .addColumn('request_id', text, (column) => column.notNull())
    .addColumn('message', text, (column) => column.notNull())
    .addColumn('metadata', text, (column) => column.notNull())
    .execute()
  await db.schema.createIndex('logs_by_agent').on('logs').columns(['agent_seq', 'timestamp', 'id', 'level']).execute()
  await db.schema
    .createIndex('logs_by_request')
    .on('logs')
    .columns(['agent_seq', 'request_id', 'timestamp', 'id'])
    .execute()

  // A row is reached by its whole key and never by another: SQLite need not number it as well.
  const keyed = engine === 'postgres' ? sql`` : sql`without rowid`
  await db.schema
    .createTable('metrics')
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('minutes', integer, (column) => column.notNull())
    .addColumn('start', integer, (column) => column.notNull())
    .addColumn('count', integer, (column) => column.notNull())
    .addColumn('errors', integer, (column) => column.notNull())
    .addColumn('sum_ms', integer, (column) => column.notNull())
    .addColumn('max_ms', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('metrics_pkey', ['agent_seq', 'minutes', 'start'])
    .modifyEnd(keyed)
    .execute()
  await db.schema.createIndex('metrics_by_start').on('metrics').column('start').execute()
  await db.schema
    .createTable('metric_buckets')
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('minutes', integer, (column) => column.notNull())
    .addColumn('start', integer, (column) => column.notNull())
    .addColumn('bucket', integer, (column) => column.notNull())
    .addColumn('count', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('metric_buckets_pkey', ['agent_seq', 'minutes', 'start', 'bucket'])
    .modifyEnd(keyed)
    .execute()
  await db.schema.createIndex('metric_buckets_by_start').on('metric_buckets').column('start').execute()
}
