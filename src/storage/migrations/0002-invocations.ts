import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

export const invocations: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema
    .createTable('versions')
    .addColumn('agent_id', text, (column) => column.notNull().references('agents.id').onDelete('cascade'))
    .addColumn('version', text, (column) => column.notNull())
    .addColumn('definition', text, (column) => column.notNull())
    .addColumn('digest', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('versions_pkey', ['agent_id', 'version'])
    .execute()

  await db.schema
    .createTable('deployments')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('agent_id', text, (column) => column.notNull().references('agents.id').onDelete('cascade'))
    .addColumn('environment', text, (column) => column.notNull())
    .addColumn('version', text, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('digest', text, (column) => column.notNull())
    .addColumn('message', text)
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('replaces', text)
    .addColumn('rollback_of', text)
    .execute()
  await db.schema
    .createIndex('deployments_by_agent')
    .on('deployments')
    .columns(['agent_id', 'created_at', 'id'])
    .execute()
  await db.schema
    .createIndex('deployments_active')
    .unique()
    .on('deployments')
    .columns(['agent_id', 'environment'])
    .where(sql.ref('status'), '=', sql.lit('active'))
    .execute()

  // No foreign key to agents: it would cost every insert a look-up. What a deleted agent leaves is swept up later.
  await db.schema
    .createTable('invocations')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('background', integer, (column) => column.notNull())
    .addColumn('environment', text, (column) => column.notNull())
    .addColumn('version', text)
    .addColumn('deployment_id', text)
    .addColumn('message', text, (column) => column.notNull())
    .addColumn('context', text, (column) => column.notNull())
    .addColumn('user_id', text)
    .addColumn('session_id', text)
    .addColumn('response', text)
    .addColumn('error', text)
    .addColumn('input_tokens', integer, (column) => column.notNull())
    .addColumn('output_tokens', integer, (column) => column.notNull())
    .addColumn('tokens_used', integer, (column) => column.notNull())
    .addColumn('duration_ms', integer)
    .addColumn('steps', text, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('started_at', integer)
    .addColumn('finished_at', integer)
    .addColumn('owner', text)
    .addColumn('lease_until', integer)
    .addColumn('cancel_requested_at', integer)
    .execute()
  await db.schema
    .createIndex('invocations_by_agent')
    .on('invocations')
    .columns(['agent_seq', 'created_at', 'id'])
    .execute()
  // Few rows are ever unfinished: the index stays small however long the history grows.
  await db.schema
    .createIndex('invocations_unfinished')
    .on('invocations')
    .column('lease_until')
    .where(sql.ref('status'), 'in', sql`('queued', 'running')`)
    .execute()
}
