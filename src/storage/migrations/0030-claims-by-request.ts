import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The stored reply of a request is found when what it tells is erased. */
export const claimsByRequest: Migration = async (db) => {
  await db.schema
    .createIndex('claims_by_request')
    .on('claims')
    .column('request_id')
    .where(sql.ref('request_id'), 'is not', null)
    .execute()
}
