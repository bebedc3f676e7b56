import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** The lists whose indexes had the ids of their rows behind the times. */
const LISTS = [
  'invocations_by_status on invocations (agent_seq, status, created_at)',
  'invocations_by_user on invocations (agent_seq, user_id, status, created_at) where user_id is not null',
  'invocations_by_session on invocations (agent_seq, session_id, status, created_at) where session_id is not null',
  'invocations_by_schedule on invocations (agent_seq, schedule_id, status, created_at) where schedule_id is not null',
  'logs_by_level on logs (agent_seq, level, timestamp)',
  'deliveries_by_status on deliveries (webhook_id, status, created_at)',
  'deliveries_by_event_name on deliveries (webhook_id, event, status, created_at)',
  'audit_log_by_outcome on audit_log (outcome, created_at)',
  'audit_log_of_agent on audit_log (agent_id, outcome, created_at)',
  'audit_log_by_action on audit_log (action, outcome, created_at)',
  'audit_log_by_actor on audit_log (actor, outcome, created_at)',
  // The part of the id that its time and its counter make. It grows as the id does, and few requests share it.
  'logs_of_request on logs (substr(request_id, 5, 13))',
]

/**
 * Those who see only what they started have an index of it. Others cost nothing there: their invocations have `own` 0.
 * Rows of programs that do not know the column have 1, which is right for everybody.
 *
 * SQLite numbers the rows of a table as they are written, and every index has that number. It orders rows of the same
 * millisecond as well as the id does, so that no index of a list needs the id.
 */
export const leanLists: Migration = async (db, engine) => {
  const { integer } = columns(engine)
  await db.schema
    .alterTable('invocations')
    .addColumn('own', integer, (column) => column.notNull().defaultTo(1))
    .execute()
  const ordered = engine === 'postgres' ? 'created_at, id' : 'created_at'
  await sql
    .raw(`create index invocations_by_starter on invocations (agent_seq, created_by, status, ${ordered}) where own = 1`)
    .execute(db)
  if (engine === 'postgres') return
  for (const index of LISTS) {
    await db.schema.dropIndex(index.slice(0, index.indexOf(' '))).execute()
    await sql.raw(`create index ${index}`).execute(db)
  }
}
