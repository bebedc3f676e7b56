import { type Selectable, type SqlBool, sql, type Updateable, type UpdateResult } from 'kysely'
import { jsonOf } from '../damaged-rows.ts'
import type { Database } from '../database.ts'
import { bulkTable } from '../journal/bulk-table.ts'
import type { EndedTable, LeaseEnd, Write } from '../journal/rows.ts'
import { insertIf } from '../journal/write-rows.ts'
import { removeRows } from '../queries/remove-rows.ts'
import type { Tables } from '../tables.ts'
import { isHeld, type Lease, type LeasedTable } from './lease.ts'

/** The right to run a request with an Idempotency-Key. Once there is an answer, the row contains it. */
export const CLAIMS: LeasedTable = {
  table: 'claims',
  key: ['scope', 'key'],
  until: 'lease_until',
  condition: 'status is null',
}

const CLAIM_ROWS = bulkTable('claims')

export type StoredReply = { status: number; headers: Record<string, string>; body: string }

export type ClaimResult =
  /** `earlier` is the previous request with the key, if its process died while it ran. */
  | { state: 'claimed'; earlier: string | undefined }
  | { state: 'running' }
  | { state: 'done'; reply: StoredReply }
  /** The request has started this run, which had to wait and continues in the background. */
  | { state: 'waiting'; run: string }
  /** The key belongs to another request. */
  | { state: 'other' }

/** Is stored for a run that waits. The run's receipt will say how it ended, so no words of it are stored here. */
export const WAITING: StoredReply = { status: 202, headers: {}, body: 'waiting' }

type FoundClaim = Selectable<Tables['claims']>

const VALID_MS = 24 * 3_600_000

/** The fingerprint of a claim whose request failed. Any request can use its key. */
const FREED = ''

/** Inserts a row, unless one with its key exists. Returns whether it was inserted. */
type InsertUnlessTaken = (write: Write) => Promise<boolean>

/**
 * Claims a key. One atomic insert decides which request runs. A claim can be taken over if it is older than a day, or
 * if its owner has died.
 */
export async function claim(
  db: Database,
  { key: [scope = '', key = ''], owner, until }: Lease,
  { fingerprint, project_id, request_id }: { fingerprint: string; project_id: string; request_id: string },
  now: number,
  insert: InsertUnlessTaken = (write) => insertIf(db, write, sql<SqlBool>`true`, { unlessTaken: true }),
): Promise<ClaimResult> {
  const unanswered = { status: null, headers: null, body: null }
  const fresh = { fingerprint, owner, lease_until: until, created_at: now, project_id, request_id, ...unanswered }
  for (;;) {
    if (await insert({ into: CLAIM_ROWS, row: { scope, key, ...fresh } })) {
      return { state: 'claimed', earlier: undefined }
    }
    const held = await find(db, scope, key)
    if (!held) continue
    const isFree = held.created_at + VALID_MS <= now || held.fingerprint === FREED
    const isAbandoned = held.status === null && held.lease_until <= now
    // Work that an abandoned request started may continue without it, so no other request can use its key.
    if (!isFree && (!isAbandoned || held.fingerprint !== fingerprint)) return stateOf(held, fingerprint)
    const earlier = isFree ? null : held.request_id
    const { numUpdatedRows } = await takeOver(db, held, { ...fresh, request_id: earlier ?? request_id })
    if (numUpdatedRows > 0n) return { state: 'claimed', earlier: earlier ?? undefined }
  }
}

/** What is known about an identical request that is running or was answered. */
export async function findSame(
  db: Database,
  { scope, key, fingerprint }: { scope: string; key: string; fingerprint: string },
  now: number,
): Promise<Exclude<ClaimResult, { state: 'claimed' | 'other' }> | undefined> {
  const found = await find(db, scope, key)
  if (!found || found.created_at + VALID_MS <= now) return undefined
  // A request whose process died is run again, and then needs its own one-time code.
  if (found.status === null && found.lease_until <= now) return undefined
  const same = stateOf(found, fingerprint)
  return same.state === 'claimed' || same.state === 'other' ? undefined : same
}

function find(db: Database, scope: string, key: string): Promise<FoundClaim | undefined> {
  return db.selectFrom('claims').selectAll().where('scope', '=', scope).where('key', '=', key).executeTakeFirst()
}

/** Takes over a claim. Updates no row if another request was faster, or if the owner has answered in the meantime. */
function takeOver(db: Database, held: FoundClaim, changes: Updateable<Tables['claims']>): Promise<UpdateResult> {
  return db
    .updateTable('claims')
    .set(changes)
    .where('scope', '=', held.scope)
    .where('key', '=', held.key)
    .where('owner', '=', held.owner)
    .where('lease_until', '=', held.lease_until)
    .where('status', held.status === null ? 'is' : '=', held.status)
    .executeTakeFirst()
}

/** What an active claim means for a request with this fingerprint. */
function stateOf(found: FoundClaim, asked: string): ClaimResult {
  const { fingerprint, status, body, request_id, key: id } = found
  if (fingerprint !== asked) return { state: 'other' }
  if (status === null) return { state: 'running' }
  if (body === WAITING.body && request_id !== null) return { state: 'waiting', run: request_id }
  const headers = jsonOf('reply of Idempotency-Key', { ...found, id })<StoredReply['headers'] | null>('headers')
  return { state: 'done', reply: { status, headers: headers ?? {}, body: body ?? '' } }
}

const ANSWERED_CLAIMS: EndedTable = { ...CLAIMS, columns: ['status', 'headers', 'body'] }

/** The answer as part of a journal entry, so it is stored together with what the run writes. */
export function ending(lease: Lease, { status, headers, body }: StoredReply): LeaseEnd {
  return { of: ANSWERED_CLAIMS, lease, row: { status, headers: JSON.stringify(headers), body } }
}

const FREED_CLAIMS: EndedTable = { ...CLAIMS, columns: ['fingerprint', 'request_id', 'lease_until'] }

/** Ends the claim of a failed run, for the journal. Any request can then use the key. */
export function freeing(lease: Lease): LeaseEnd {
  return { of: FREED_CLAIMS, lease, row: { fingerprint: FREED, request_id: null, lease_until: 0 } }
}

/** Whether the owner still holds the claim, has ended it with a reply or by freeing it, or has lost it to another. */
export async function standing(db: Database, { key, owner }: Lease): Promise<'held' | 'ended' | 'lost'> {
  const [scope = '', name = ''] = key
  const found = await find(db, scope, name)
  if (found?.owner !== owner) return 'lost'
  return found.status === null && found.fingerprint !== FREED ? 'held' : 'ended'
}

/**
 * Stores the answer in a transaction. Returns false if another owner has taken the claim. The run must then be rolled
 * back.
 */
export async function complete(db: Database, lease: Lease, { status, headers, body }: StoredReply): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('claims')
    .set({ status, headers: JSON.stringify(headers), body })
    .where(isHeld(CLAIMS, lease))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Makes the claim name this request instead of the previous one. Returns false if the claim is lost. */
export async function nameRequest(db: Database, lease: Lease, request_id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('claims')
    .set({ request_id })
    .where(isHeld(CLAIMS, lease))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Ends the claim of a request whose work may continue. The next request with the key needn't wait, and looks for that
 * work.
 */
export async function giveUp(db: Database, lease: Lease, now: number): Promise<void> {
  await db.updateTable('claims').set({ lease_until: now }).where(isHeld(CLAIMS, lease)).execute()
}

/** Frees the key after a failure, so that the request can be retried. */
export async function release(db: Database, lease: Lease): Promise<void> {
  await db.deleteFrom('claims').where(isHeld(CLAIMS, lease)).execute()
}

/** Removes at most `limit` claims. Returns how many. */
export function removeExpired(db: Database, now: number, limit: number): Promise<number> {
  const which = sql<SqlBool>`created_at <= ${now - VALID_MS} and lease_until <= ${now}`
  return removeRows(db, 'claims', { which, limit })
}
