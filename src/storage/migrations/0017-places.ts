import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** The places of agents with `limits.max_concurrency`, leased by the nodes whose runs have them. */
export const places: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)
  await db.schema
    .createTable('places')
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('slot', integer, (column) => column.notNull())
    .addColumn('owner', text, (column) => column.notNull())
    .addColumn('lease_until', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('places_by_slot', ['agent_seq', 'slot'])
    .execute()
}
