import { sql } from 'kysely'
import type { Database } from './database.ts'

/** The right to run a request that carries an Idempotency-Key, and later its answer. */
export type Claim = { scope: string; key: string; owner: string }

/** How long an owner that falls silent keeps its claim. */
export type Lease = { now: number; lease_ms: number }

export type StoredReply = { status: number; headers: Record<string, string>; body: string }

export type Claimed =
  | { state: 'claimed' }
  | { state: 'running' }
  | { state: 'done'; reply: StoredReply }
  /** The key belongs to another request. */
  | { state: 'other' }

const VALID_MS = 24 * 3_600_000
const RENEWED_AT_ONCE = 500

/** One atomic insert decides who runs. A claim whose owner stopped renewing its lease, or older than a day, may be taken over. */
export async function claim(
  db: Database,
  { scope, key, owner }: Claim,
  fingerprint: string,
  { now, lease_ms }: Lease,
): Promise<Claimed> {
  const fresh = {
    fingerprint,
    owner,
    lease_until: now + lease_ms,
    created_at: now,
    status: null,
    headers: null,
    body: null,
  }
  for (;;) {
    const inserted = await db
      .insertInto('claims')
      .values({ scope, key, ...fresh })
      .onConflict((row) => row.columns(['scope', 'key']).doNothing())
      .returning('owner')
      .executeTakeFirst()
    if (inserted) return { state: 'claimed' }

    const held = await db
      .selectFrom('claims')
      .selectAll()
      .where('scope', '=', scope)
      .where('key', '=', key)
      .executeTakeFirst()
    if (!held) continue
    const expired = held.created_at + VALID_MS <= now
    const abandoned = held.status === null && held.lease_until <= now
    if (expired || abandoned) {
      const taken = await db
        .updateTable('claims')
        .set(fresh)
        .where('scope', '=', scope)
        .where('key', '=', key)
        .where('owner', '=', held.owner)
        .where('lease_until', '=', held.lease_until)
        .executeTakeFirst()
      if (taken.numUpdatedRows > 0n) return { state: 'claimed' }
      continue
    }
    if (held.fingerprint !== fingerprint) return { state: 'other' }
    if (held.status === null) return { state: 'running' }
    const reply = { status: held.status, headers: JSON.parse(held.headers ?? '{}'), body: held.body ?? '' }
    return { state: 'done', reply }
  }
}

/** False when the claim was lost to another owner: then nothing of the run may be kept. */
export async function complete(db: Database, held: Claim, { status, headers, body }: StoredReply): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('claims')
    .set({ status, headers: JSON.stringify(headers), body })
    .where('scope', '=', held.scope)
    .where('key', '=', held.key)
    .where('owner', '=', held.owner)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Frees the key after a failure, for the next try. */
export async function release(db: Database, held: Claim): Promise<void> {
  await db
    .deleteFrom('claims')
    .where('scope', '=', held.scope)
    .where('key', '=', held.key)
    .where('owner', '=', held.owner)
    .where('status', 'is', null)
    .execute()
}

/** By primary key, in small statements: whoever else writes waits for none of them long. */
export async function renew(db: Database, held: Claim[], { now, lease_ms }: Lease): Promise<void> {
  for (let from = 0; from < held.length; from += RENEWED_AT_ONCE) {
    const some = held.slice(from, from + RENEWED_AT_ONCE)
    const rows = sql.join(some.map(({ scope, key, owner }) => sql`(${scope}, ${key}, ${owner})`))
    await db
      .updateTable('claims')
      .set({ lease_until: now + lease_ms })
      .where(sql<boolean>`(scope, key, owner) in (values ${rows})`)
      .where('status', 'is', null)
      .execute()
  }
}

/** At most `limit`; returns how many went. */
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
