import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

export const secrets: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema
    .createTable('secrets')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('value', text, (column) => column.notNull())
    .addColumn('hosts', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()

  await db.schema
    .createTable('listeners')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('agent_id', text, (column) => column.references('agents.id').onDelete('cascade'))
    .addColumn('events', text, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('expires_at', integer, (column) => column.notNull())
    .execute()
  await db.schema.createIndex('listeners_by_agent').on('listeners').column('agent_id').execute()
}
