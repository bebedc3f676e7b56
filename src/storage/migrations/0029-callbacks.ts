import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/**
 * A webhook may belong to one run: then it is a callback, with a name of its caller's and headers that are sealed.
 *
 * Older programs would send a callback the events of every run, and cannot read receipts with a step `recall`, which
 * exist since the same version.
 */
const addCallbacks: Migration = async (db, engine) => {
  const { text } = columns(engine)
  for (const column of ['request_id', 'name', 'format', 'headers']) {
    await db.schema.alterTable('webhooks').addColumn(column, text).execute()
  }
  await db.schema
    .createIndex('webhooks_by_request')
    .on('webhooks')
    .columns(['request_id', 'id'])
    .where(sql.ref('request_id'), 'is not', null)
    .execute()
}

export const callbacks: Migration = Object.assign(addCallbacks, { breaks: true as const })
