import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../database.ts'

/** A key whose answer was erased stays in use, and a retry gets the error that the answer was erased. */
const ERASED = { headers: '{}', body: '' }

/**
 * Erases the replies to requests about these runs. A reply that is being written now may contain erased words, so it
 * loses its claim and isn't stored, and the next request with the key gets a new reply. Returns how many were erased.
 */
export async function eraseRepliesAbout(db: Database, request_ids: readonly string[]): Promise<number> {
  await db
    .updateTable('claims')
    .set({ owner: '', lease_until: 0 })
    .where('request_id', 'in', request_ids)
    .where('status', 'is', null)
    .execute()
  const { numUpdatedRows } = await db
    .updateTable('claims')
    .set(ERASED)
    .where('request_id', 'in', request_ids)
    .where('status', 'is not', null)
    .where('body', '<>', '')
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

const REPLIES_AT_ONCE = 100

type ClaimKey = { scope: string; key: string }

type StoredBody = ClaimKey & { project_id: string; body: string }

/** The next stored replies after the cursor that match the condition. */
export async function listReplies(
  db: Database,
  condition: RawBuilder<SqlBool>,
  after: ClaimKey,
): Promise<StoredBody[]> {
  const rows = await db
    .selectFrom('claims')
    .select(['scope', 'key', 'project_id', 'body'])
    .where('status', 'is not', null)
    .where(condition)
    .where(sql<boolean>`(scope, key) > (${after.scope}, ${after.key})`)
    .orderBy('scope')
    .orderBy('key')
    .limit(REPLIES_AT_ONCE)
    .execute()
  return rows.map((row) => ({ ...row, body: row.body ?? '' }))
}

/** Erases a reply, unless it has changed in the meantime. Returns how many were erased. */
export async function eraseReply(db: Database, { scope, key, body }: Omit<StoredBody, 'project_id'>): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('claims')
    .set(ERASED)
    .where('scope', '=', scope)
    .where('key', '=', key)
    .where('body', '=', body)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}
