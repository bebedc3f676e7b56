import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** Memories are read, changed and aged one by one. */
export const memoriesOneByOne: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema.createIndex('memories_by_id').unique().on('memories').column('id').execute()
  // Lists in the order of time, and what is older than an agent keeps.
  await db.schema.createIndex('memories_by_time').on('memories').columns(['agent_seq', 'created_at', 'seq']).execute()
  // Finds the vectors of an earlier model, and those of memories that were changed.
  await db.schema.createIndex('memory_vectors_by_model').on('memory_vectors').columns(['model', 'memory_seq']).execute()

  await db.schema.alterTable('memories').addColumn('superseded_by', text).execute()
  await db.schema
    .alterTable('memory_scopes')
    .addColumn('facts_through', integer, (column) => column.notNull().defaultTo(0))
    .execute()
}
