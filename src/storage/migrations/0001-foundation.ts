import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

export const foundation: Migration = async (db, engine) => {
  const { text, integer, sequence } = columns(engine)

  await db.schema
    .createTable('settings')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('value', text, (column) => column.notNull())
    .execute()

  await db.schema
    .createTable('agents')
    .addColumn('seq', sequence)
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('name', text, (column) => column.notNull().unique())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('definition', text, (column) => column.notNull())
    .addColumn('security', text)
    .addColumn('auth', text)
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()
  await db.schema.createIndex('agents_by_created_at').on('agents').columns(['created_at', 'id']).execute()

  await db.schema
    .createTable('keys')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('agent_id', text, (column) => column.references('agents.id').onDelete('cascade'))
    .addColumn('permissions', text, (column) => column.notNull())
    .addColumn('role', text)
    .addColumn('tier', text, (column) => column.notNull())
    .addColumn('hint', text, (column) => column.notNull())
    .addColumn('hash', text, (column) => column.notNull().unique())
    .addColumn('previous_hash', text, (column) => column.unique())
    .addColumn('previous_secret_expires_at', integer)
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('expires_at', integer)
    .addColumn('last_used_at', integer)
    .addColumn('revoked_at', integer)
    .execute()
  await db.schema.createIndex('keys_by_agent').on('keys').columns(['agent_id', 'created_at']).execute()

  await db.schema
    .createTable('claims')
    .addColumn('scope', text, (column) => column.notNull())
    .addColumn('key', text, (column) => column.notNull())
    .addColumn('fingerprint', text, (column) => column.notNull())
    .addColumn('owner', text, (column) => column.notNull())
    .addColumn('lease_until', integer, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('status', integer)
    .addColumn('headers', text)
    .addColumn('body', text)
    .addPrimaryKeyConstraint('claims_pkey', ['scope', 'key'])
    .execute()
  await db.schema.createIndex('claims_by_created_at').on('claims').column('created_at').execute()
}
