import { columns } from '../columns.ts'
import type { Migration } from '../migrate.ts'

export const observability: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema
    .createTable('jobs')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('key', text)
    .addColumn('payload', text, (column) => column.notNull())
    .addColumn('run_at', integer, (column) => column.notNull())
    .addColumn('owner', text)
    .addColumn('attempts', integer, (column) => column.notNull())
    .addColumn('error', text)
    .addColumn('failed_at', integer)
    .execute()
  await db.schema
    .createIndex('jobs_by_run_at')
    .on('jobs')
    .columns(['kind', 'run_at', 'id'])
    .where('failed_at' as never, 'is', null)
    .execute()
  await db.schema
    .createIndex('jobs_by_key')
    .unique()
    .on('jobs')
    .columns(['kind', 'key'])
    .where('owner' as never, 'is', null)
    .where('failed_at' as never, 'is', null)
    .execute()
}
