import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** A webhook may belong to one run: then it is a callback, with a name of its caller's and headers that are sealed. */
export const callbacks: Migration = async (db, engine) => {
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
