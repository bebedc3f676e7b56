import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** What people are asked about runs, and a permission of its own for those who decide. */
export const approvals: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)
  await db.schema
    .createTable('approvals')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('request_id', text, (column) => column.notNull())
    .addColumn('call_id', text, (column) => column.notNull())
    .addColumn('call_index', integer, (column) => column.notNull())
    .addColumn('attempt', integer, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('tool', text, (column) => column.notNull())
    .addColumn('arguments', text, (column) => column.notNull())
    .addColumn('input_schema', text, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('user_id', text)
    .addColumn('session_id', text)
    .addColumn('started_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('expires_at', integer, (column) => column.notNull())
    .addColumn('decided_at', integer)
    .addColumn('decided_by', text)
    .addColumn('changed_arguments', text)
    .addColumn('note', text)
    .addColumn('answer', text)
    .execute()
  for (const index of [
    'approvals_by_request on approvals (request_id, call_id)',
    'approvals_by_status on approvals (status, created_at, id)',
    'approvals_by_agent on approvals (agent_seq, created_at, id)',
  ]) {
    await sql.raw(`create index ${index}`).execute(db)
  }

  // Admins hold every permission, also those who got their keys before there was this one.
  await sql`
    update keys set permissions = '["read","write","delete","manage","approve"]'
    where role = 'admin' and permissions = '["read","write","delete","manage"]'`.execute(db)
}
