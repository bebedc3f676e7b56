import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** Invocations say through which door they came, what the caller gave besides the message, and whether they were erased. */
export const doors: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)
  await db.schema
    .alterTable('invocations')
    .addColumn('door', text, (column) => column.notNull().defaultTo('api'))
    .execute()
  await db.schema.alterTable('invocations').addColumn('given', text).execute()
  await db.schema.alterTable('invocations').addColumn('rounds', text).execute()
  await db.schema.alterTable('invocations').addColumn('erased_at', integer).execute()
}
