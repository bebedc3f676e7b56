import { sql } from 'kysely'
import type { Database } from '../database.ts'

/**
 * Takes away the claims of requests about these runs that are being answered. Their answers may contain erased words, so
 * they are not stored. The next request with the key is answered anew.
 */
export async function withdraw(db: Database, request_ids: readonly string[]): Promise<void> {
  await db
    .updateTable('claims')
    .set({ owner: '', lease_until: 0 })
    .where('request_id', 'in', request_ids)
    .where('status', 'is', null)
    .execute()
}

/** The keys of requests about a run stay taken, but their answers are not repeated any more. */
export async function eraseRepliesAbout(db: Database, request_id: string): Promise<void> {
  await withdraw(db, [request_id])
  await db
    .updateTable('claims')
    .set({ headers: '{}', body: '' })
    .where('request_id', '=', request_id)
    .where('status', 'is not', null)
    .execute()
}

const REPLIES_AT_ONCE = 100

type ClaimKey = { scope: string; key: string }

export type StoredBody = ClaimKey & { body: string }

/** The next stored replies after the cursor. */
export async function listReplies(db: Database, after: ClaimKey): Promise<StoredBody[]> {
  const rows = await db
    .selectFrom('claims')
    .select(['scope', 'key', 'body'])
    .where('status', 'is not', null)
    .where(sql<boolean>`(scope, key) > (${after.scope}, ${after.key})`)
    .orderBy('scope')
    .orderBy('key')
    .limit(REPLIES_AT_ONCE)
    .execute()
  return rows.map((row) => ({ ...row, body: row.body ?? '' }))
}

/** The stored replies to requests about these runs. */
export async function listRepliesAbout(db: Database, request_ids: readonly string[]): Promise<StoredBody[]> {
  const rows = await db
    .selectFrom('claims')
    .select(['scope', 'key', 'body'])
    .where('request_id', 'in', request_ids)
    .where('status', 'is not', null)
    .execute()
  return rows.map((row) => ({ ...row, body: row.body ?? '' }))
}

/** Replaces a reply, unless it has changed meanwhile. */
export async function replaceReply(db: Database, { scope, key, body: known }: StoredBody, body: string): Promise<void> {
  await db
    .updateTable('claims')
    .set({ body })
    .where('scope', '=', scope)
    .where('key', '=', key)
    .where('body', '=', known)
    .execute()
}
