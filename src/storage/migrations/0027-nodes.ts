import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** The processes that share the database, as each of them last told. */
export const nodes: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)
  await db.schema
    .createTable('nodes')
    .addColumn('node', text, (column) => column.primaryKey())
    .addColumn('version', text, (column) => column.notNull())
    .addColumn('started_at', integer, (column) => column.notNull())
    .addColumn('seen_at', integer, (column) => column.notNull())
    .addColumn('runs_live', integer, (column) => column.notNull())
    .addColumn('busy_percent', integer, (column) => column.notNull())
    .addColumn('memory_bytes', integer, (column) => column.notNull())
    .execute()
}
