import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** What a run has done is kept while it goes on, so that another node can go on after it; and a run may wait. */
export const steps: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema
    .createTable('steps')
    .addColumn('request_id', text, (column) => column.notNull())
    .addColumn('position', integer, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('attempt', integer, (column) => column.notNull())
    .addColumn('started_at', integer, (column) => column.notNull())
    .addColumn('finished_at', integer, (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addColumn('definition', text)
    .addPrimaryKeyConstraint('steps_pkey', ['request_id', 'position'])
    .execute()

  await db.schema
    .alterTable('invocations')
    .addColumn('keyed', integer, (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema.alterTable('invocations').addColumn('wake_at', integer).execute()
  // Few rows ever wait: the index stays small however long the history grows.
  await db.schema
    .createIndex('invocations_waiting')
    .on('invocations')
    .column('wake_at')
    .where(sql.ref('status'), '=', sql.lit('waiting'))
    .execute()

  await db.schema.alterTable('claims').addColumn('request_id', text).execute()
}
