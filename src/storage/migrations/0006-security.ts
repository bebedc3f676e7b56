import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

const GENESIS = '0'.repeat(64)

export const security: Migration = async (db, engine) => {
  const { text, integer, sequence } = columns(engine)

  await db.schema
    .createTable('key_factors')
    .addColumn('key_id', text, (column) => column.notNull().references('keys.id').onDelete('cascade'))
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('secret', text, (column) => column.notNull())
    .addColumn('last_step', integer)
    .addColumn('wrong_codes', integer, (column) => column.notNull())
    .addColumn('locked_until', integer)
    .addColumn('version', integer, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('key_factors_pkey', ['key_id', 'status'])
    .execute()

  await db.schema
    .createTable('audit_log')
    .addColumn('position', sequence)
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('actor_kind', text)
    .addColumn('actor', text)
    .addColumn('action', text)
    .addColumn('agent_id', text)
    .addColumn('target', text)
    .addColumn('outcome', text, (column) => column.notNull())
    .addColumn('code', text)
    .addColumn('fields', text, (column) => column.notNull())
    .addColumn('times', integer, (column) => column.notNull())
    .addColumn('request_id', text, (column) => column.notNull())
    .addColumn('address', text)
    .addColumn('seq', integer, (column) => column.unique())
    .addColumn('prev_hash', text)
    .addColumn('hash', text)
    .execute()
  await db.schema.createIndex('audit_log_by_created_at').on('audit_log').columns(['created_at', 'id']).execute()
  await db.schema.createIndex('audit_log_by_agent').on('audit_log').columns(['agent_id', 'created_at']).execute()
  await sql`create index audit_log_unsealed on audit_log (position) where seq is null`.execute(db)

  await db.schema
    .createTable('audit_chain')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('seq', integer, (column) => column.notNull())
    .addColumn('hash', text, (column) => column.notNull())
    .execute()
  await sql`insert into audit_chain (name, seq, hash) values ('tail', 0, ${GENESIS}), ('head', 0, ${GENESIS})`.execute(
    db,
  )
}
