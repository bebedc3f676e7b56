import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** Who is signed in to the console, and the links that sign somebody in once. */
export const consoleSignIn: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema
    .createTable('console_sessions')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('key_id', text, (column) => column.notNull().references('keys.id').onDelete('cascade'))
    .addColumn('key_hash', text, (column) => column.notNull())
    .addColumn('hash', text, (column) => column.notNull().unique())
    .addColumn('previous_hash', text)
    .addColumn('rotated_at', integer, (column) => column.notNull())
    .addColumn('confirmed_at', integer)
    .addColumn('secure', integer, (column) => column.notNull())
    .addColumn('address', text, (column) => column.notNull())
    .addColumn('browser', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('last_used_at', integer, (column) => column.notNull())
    .addColumn('expires_at', integer, (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('console_sessions_previous')
    .on('console_sessions')
    .column('previous_hash')
    .where('previous_hash', 'is not', null)
    .execute()
  await db.schema.createIndex('console_sessions_by_key').on('console_sessions').column('key_id').execute()

  await db.schema
    .createTable('console_links')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('key_id', text, (column) => column.notNull().references('keys.id').onDelete('cascade'))
    .addColumn('key_hash', text, (column) => column.notNull())
    .addColumn('expires_at', integer, (column) => column.notNull())
    .execute()
  await db.schema.createIndex('console_links_by_key').on('console_links').column('key_id').execute()

  // Lists of all agents go by the primary key. Most invocations complete, and cost nothing here.
  await sql`create index invocations_not_completed on invocations (status, id) where status <> 'completed'`.execute(db)
}
