import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** What long sessions are about, so that the model knows of the turns which it is not shown any more. */
export const summaries: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)
  await db.schema
    .createTable('memory_summaries')
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('user_id', text, (column) => column.notNull())
    .addColumn('session_id', text, (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addColumn('turns', integer, (column) => column.notNull())
    .addColumn('through_seq', integer, (column) => column.notNull())
    .addColumn('model', text)
    .addColumn('tokens_used', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('memory_summaries_key', ['agent_seq', 'user_id', 'session_id'])
    .execute()
}
