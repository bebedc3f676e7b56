import { type Insertable, type Selectable, sql, type Updateable, type UpdateResult } from 'kysely'
import { type Database, engineOf } from '../database.ts'
import { type BulkTable, type EndedTable, type Ending, rowOf, type Write } from '../journal/rows.ts'
import type { ClaimsTable } from '../tables/service-tables.ts'
import { isHeld, type Lease, type Leased } from './lease.ts'

/** The right to run a request that carries an Idempotency-Key. Later the row holds the answer. */
export const CLAIMS: Leased = {
  table: 'claims',
  key: ['scope', 'key'],
  until: 'lease_until',
  condition: 'status is null',
}

export type StoredReply = { status: number; headers: Record<string, string>; body: string }

export type Claimed =
  /** `earlier`: the request that came with the key before, and whose process died while it ran. */
  | { state: 'claimed'; earlier: string | undefined }
  | { state: 'running' }
  | { state: 'done'; reply: StoredReply }
  /** The key belongs to another request. */
  | { state: 'other' }

export type ClaimKey = { scope: string; key: string }

/** Both parts as one text. It is JSON, because both may contain any separator. */
export function idOf({ scope, key }: ClaimKey): string {
  return JSON.stringify([scope, key])
}

/** A claim as it is in the store. */
export type FoundClaim = Selectable<ClaimsTable>

const VALID_MS = 24 * 3_600_000

/** The time at which the lease of a claim ended whose request failed. Any request may then have the key. */
const FREED = 0

/** Finds the claims of many keys with one query. */
export async function findMany(db: Database, keys: readonly ClaimKey[]): Promise<FoundClaim[]> {
  const json = JSON.stringify(keys)
  const given =
    engineOf(db) === 'postgres'
      ? sql`jsonb_to_recordset(${json}::jsonb) as given(scope text, key text)`
      : sql`(select value ->> 'scope' as scope, value ->> 'key' as key from json_each(${json})) as given`
  const { rows } = await sql<FoundClaim>`
    select claims.* from ${given} cross join claims
    where claims.scope = given.scope and claims.key = given.key`.execute(db)
  return rows
}

/**
 * One atomic insert decides who runs. A claim that is older than a day, or whose owner has died, may be taken over.
 * `found` is the claim that was found under the key a moment ago, if one was: then the insert is left out.
 */
export async function claim(
  db: Database,
  { key: [scope = '', key = ''], owner, until }: Lease,
  { fingerprint, request_id }: { fingerprint: string; request_id: string },
  { now, isDead, found }: { now: number; isDead: (owner: string) => boolean; found?: FoundClaim | undefined },
): Promise<Claimed> {
  const unanswered = { status: null, headers: null, body: null }
  const fresh = { fingerprint, owner, lease_until: until, created_at: now, request_id, ...unanswered }
  for (let known = found; ; known = undefined) {
    if (!known && (await insertClaim(db, { scope, key, ...fresh }))) return { state: 'claimed', earlier: undefined }
    const held = known ?? (await findMany(db, [{ scope, key }]))[0]
    if (!held) continue
    const isFree = held.created_at + VALID_MS <= now || (held.status === null && held.lease_until === FREED)
    const isAbandoned = held.status === null && (held.lease_until <= now || isDead(held.owner))
    // What an abandoned request has begun may go on without it, so its key is not free for another request.
    if (!isFree && (!isAbandoned || held.fingerprint !== fingerprint)) return stateOf(held, fingerprint)
    const earlier = isFree ? null : held.request_id
    const { numUpdatedRows } = await takeOver(db, held, { ...fresh, request_id: earlier ?? request_id })
    if (numUpdatedRows > 0n) return { state: 'claimed', earlier: earlier ?? undefined }
  }
}

/** Resolves with undefined when the key has a claim already. */
function insertClaim(db: Database, claimed: Insertable<ClaimsTable>): Promise<{ owner: string } | undefined> {
  return db
    .insertInto('claims')
    .values(claimed)
    .onConflict((row) => row.columns(['scope', 'key']).doNothing())
    .returning('owner')
    .executeTakeFirst()
}

/** Updates no row when another request was faster, or when the owner has answered meanwhile. */
function takeOver(db: Database, held: FoundClaim, changes: Updateable<ClaimsTable>): Promise<UpdateResult> {
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

/** What a request with this fingerprint learns from a claim that is in force. */
function stateOf({ fingerprint, status, headers, body }: FoundClaim, asked: string): Claimed {
  if (fingerprint !== asked) return { state: 'other' }
  if (status === null) return { state: 'running' }
  return { state: 'done', reply: { status, headers: JSON.parse(headers ?? '{}'), body: body ?? '' } }
}

const ANSWERED_CLAIMS: EndedTable = { ...CLAIMS, columns: ['status', 'headers', 'body'] }

/** The answer as a part of a journal entry, so that it is stored together with what the run leaves. */
export function ending({ key, owner }: Lease, { status, headers, body }: StoredReply): Ending {
  return { of: ANSWERED_CLAIMS, row: [status, JSON.stringify(headers), body, ...key, owner] }
}

const NEW_CLAIMS: BulkTable = {
  table: 'claims',
  columns: [
    'scope',
    'key',
    'fingerprint',
    'owner',
    'lease_until',
    'created_at',
    'request_id',
    'status',
    'headers',
    'body',
  ],
  sorted: true,
}

/** A claim that is written with an entry of the journal. */
export type NewClaim = Write & { of: ClaimKey }

/** A claim together with its answer, for the journal. */
export function answered(
  { key: [scope = '', key = ''], owner }: Lease,
  { fingerprint, request_id }: { fingerprint: string; request_id: string },
  { status, headers, body }: StoredReply,
  now: number,
): NewClaim {
  const row = [scope, key, fingerprint, owner, now, now, request_id, status, JSON.stringify(headers), body]
  return { of: { scope, key }, into: NEW_CLAIMS, row }
}

/** The claim of a run that failed, for the journal: whoever comes next with the key takes it over at once. */
export function freed({ key: [scope = '', key = ''], owner }: Lease, fingerprint: string, now: number): NewClaim {
  const fields = { scope, key, fingerprint, owner, lease_until: FREED, created_at: now }
  return { of: { scope, key }, into: NEW_CLAIMS, row: rowOf(NEW_CLAIMS, fields) }
}

const FREED_CLAIMS: EndedTable = { ...CLAIMS, columns: ['lease_until', 'request_id'] }

/** The same for a claim that is in the store already. */
export function freeing({ key, owner }: Lease): Ending {
  return { of: FREED_CLAIMS, row: [FREED, null, ...key, owner] }
}

export async function isOurs(db: Database, lease: Lease): Promise<boolean> {
  const found = await db.selectFrom('claims').select('owner').where(isHeld(CLAIMS, lease)).executeTakeFirst()
  return found !== undefined
}

/**
 * Stores the answer in a transaction. Returns false when another owner has taken the claim; then nothing of the run may
 * be kept.
 */
export async function complete(db: Database, lease: Lease, { status, headers, body }: StoredReply): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('claims')
    .set({ status, headers: JSON.stringify(headers), body })
    .where(isHeld(CLAIMS, lease))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** From now on the claim names this request, and not the one that held it before. Returns false when it is lost. */
export async function nameRequest(db: Database, lease: Lease, request_id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('claims')
    .set({ request_id })
    .where(isHeld(CLAIMS, lease))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The next request with the key need not wait, and looks for what this one has begun. */
export async function giveUp(db: Database, lease: Lease, now: number): Promise<void> {
  await db.updateTable('claims').set({ lease_until: now }).where(isHeld(CLAIMS, lease)).execute()
}

/** Frees the key after a failure, so that the request can be tried again. */
export async function release(db: Database, lease: Lease): Promise<void> {
  await db.deleteFrom('claims').where(isHeld(CLAIMS, lease)).execute()
}

/** Removes at most `limit` claims; returns how many it removed. */
export async function removeExpired(db: Database, now: number, limit: number): Promise<number> {
  const expired = db
    .selectFrom('claims')
    .select(['scope', 'key'])
    .where('created_at', '<=', now - VALID_MS)
    .where('lease_until', '<=', now)
    .limit(limit)
    .$asTuple('scope', 'key')
  const { numDeletedRows } = await db
    .deleteFrom('claims')
    .where((claims) => claims(claims.refTuple('scope', 'key'), 'in', expired))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
