import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** Queued invocations wait in their own table, in order for each agent, instead of as jobs. Every lease has an `owner`. */
export const queue: Migration = async (db, engine) => {
  const { integer } = columns(engine)

  await db.schema
    .alterTable('invocations')
    .addColumn('lapses', integer, (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema.dropIndex('invocations_unfinished').execute()
  // Few rows are ever unfinished: these indexes stay small however long the history grows.
  await db.schema
    .createIndex('invocations_queued')
    .on('invocations')
    .columns(['agent_seq', 'id'])
    .where(sql.ref('status'), '=', sql.lit('queued'))
    .execute()
  await db.schema
    .createIndex('invocations_running')
    .on('invocations')
    .column('lease_until')
    .where(sql.ref('status'), '=', sql.lit('running'))
    .execute()
  await sql`delete from jobs where kind = 'invocation'`.execute(db)

  await db.schema.alterTable('deliveries').renameColumn('lease', 'owner').execute()
}
