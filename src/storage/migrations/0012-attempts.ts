import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** What was stored before has begun once, as far as anybody knows. */
export const attempts: Migration = async (db, engine) => {
  const { integer } = columns(engine)
  await db.schema
    .alterTable('invocations')
    .addColumn('attempt', integer, (column) => column.notNull().defaultTo(1))
    .execute()
}
