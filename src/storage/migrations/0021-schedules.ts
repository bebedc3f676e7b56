import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** What an agent is to be asked at certain times; and invocations that say which schedule began them. */
export const schedules: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema
    .createTable('schedules')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('agent_id', text, (column) => column.notNull().references('agents.id').onDelete('cascade'))
    .addColumn('name', text)
    .addColumn('cron', text)
    .addColumn('timezone', text)
    .addColumn('every', text)
    .addColumn('at', integer)
    .addColumn('anchor_at', integer, (column) => column.notNull())
    .addColumn('message', text, (column) => column.notNull())
    .addColumn('context', text, (column) => column.notNull())
    .addColumn('user_id', text)
    .addColumn('environment', text, (column) => column.notNull())
    .addColumn('overlap', text, (column) => column.notNull())
    .addColumn('catch_up', text, (column) => column.notNull())
    .addColumn('enabled', integer, (column) => column.notNull())
    .addColumn('disabled_reason', text)
    .addColumn('next_at', integer)
    .addColumn('parked', integer, (column) => column.notNull())
    .addColumn('last_tick_at', integer)
    .addColumn('last_request_id', text)
    .addColumn('missed', integer, (column) => column.notNull())
    .addColumn('last_missed_at', integer)
    .addColumn('last_missed_reason', text)
    .addColumn('skipped', integer, (column) => column.notNull())
    .addColumn('last_skipped_at', integer)
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('updated_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()
  await db.schema.createIndex('schedules_by_agent').on('schedules').columns(['agent_id', 'created_at']).execute()
  await db.schema
    .createIndex('schedules_by_next_at')
    .on('schedules')
    .column('next_at')
    .where(sql.ref('next_at'), 'is not', null)
    .execute()

  await db.schema.alterTable('invocations').addColumn('schedule_id', text).execute()
  await db.schema.alterTable('invocations').addColumn('scheduled_at', integer).execute()
  // An invocation that no schedule began is not in it, and costs nothing.
  await sql
    .raw(
      `create index invocations_by_schedule on invocations (agent_seq, schedule_id, status, created_at, id)
      where schedule_id is not null`,
    )
    .execute(db)
}
