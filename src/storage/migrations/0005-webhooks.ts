import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

export const webhooks: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema
    .createTable('webhooks')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('agent_id', text, (column) => column.references('agents.id').onDelete('cascade'))
    .addColumn('url', text, (column) => column.notNull())
    .addColumn('events', text, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('disabled_reason', text)
    .addColumn('description', text)
    .addColumn('secret', text, (column) => column.notNull())
    .addColumn('secret_hint', text, (column) => column.notNull())
    .addColumn('previous_secret', text)
    .addColumn('previous_secret_expires_at', integer)
    .addColumn('failing_since', integer)
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()
  await db.schema.createIndex('webhooks_by_agent').on('webhooks').columns(['agent_id', 'created_at']).execute()

  await db.schema
    .createTable('events')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('body', text, (column) => column.notNull())
    .execute()

  // No foreign keys: an invocation must not fail because a webhook it still remembered has just been deleted.
  // What a deleted webhook leaves is swept up.
  await db.schema
    .createTable('deliveries')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('webhook_id', text, (column) => column.notNull())
    .addColumn('event_id', text, (column) => column.notNull())
    .addColumn('event', text, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('tries', integer, (column) => column.notNull())
    .addColumn('attempt_count', integer, (column) => column.notNull())
    .addColumn('attempts', text, (column) => column.notNull())
    .addColumn('next_attempt_at', integer)
    .addColumn('lease', text)
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('delivered_at', integer)
    .execute()
  await db.schema
    .createIndex('deliveries_by_webhook')
    .on('deliveries')
    .columns(['webhook_id', 'created_at', 'id'])
    .execute()
  await db.schema.createIndex('deliveries_by_event').on('deliveries').column('event_id').execute()
  // Both hold only what is still to do: claiming costs the same however long the history grows.
  await db.schema
    .createIndex('deliveries_pending')
    .on('deliveries')
    .columns(['webhook_id', 'next_attempt_at', 'id'])
    .where(sql.ref('status'), '=', sql.lit('pending'))
    .execute()
  await db.schema
    .createIndex('deliveries_leased')
    .on('deliveries')
    .columns(['webhook_id', 'next_attempt_at'])
    .where(sql.ref('lease'), 'is not', null)
    .execute()
}
