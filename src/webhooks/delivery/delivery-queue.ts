import { sql } from 'kysely'
import { type Database, engineOf } from '../../storage/database.ts'
import { fromRow as webhookFromRow } from '../store.ts'
import type { Webhook } from '../webhook.ts'
import type { Delivery } from './delivery.ts'
import { fromRow } from './delivery-store.ts'

// Written out, not bound: only then do the engines see that the index of pending deliveries serves the query.
const PENDING = sql.lit('pending')

/** The webhooks that have something to send, and when the first of it is due. It costs a look-up a webhook, however much waits. */
export async function survey(db: Database): Promise<{ webhook_id: string; due_at: number }[]> {
  const { rows } = await sql<{ webhook_id: string; due_at: number }>`
    select webhook_id, due_at from (
      with recursive lane(webhook_id) as (
        select min(webhook_id) from deliveries where status = 'pending'
        union all
        select (select min(d.webhook_id) from deliveries d where d.status = 'pending' and d.webhook_id > lane.webhook_id)
        from lane where lane.webhook_id is not null
      )
      select lane.webhook_id,
        (select min(d.next_attempt_at) from deliveries d where d.status = 'pending' and d.webhook_id = lane.webhook_id)
          as due_at
      from lane join webhooks on webhooks.id = lane.webhook_id and webhooks.status = 'enabled'
    ) lanes`.execute(db)
  return rows
}

/** A delivery that is ours until the lease ends, with what it sends. */
export type Claimed = Delivery & { lease: string; body: string }

export type Claim =
  /** `next_at`: when this webhook is to be looked at again; null when nothing is left. */
  | { state: 'claimed'; webhook: Webhook; deliveries: Claimed[]; next_at: number | null }
  /** Other nodes are at it, as many as may be. */
  | { state: 'busy' }
  /** Disabled or deleted. */
  | { state: 'closed' }

type ClaimOptions = {
  webhook_id: string
  limit: number
  /** How many of the webhook's deliveries may be under way at once, on all nodes together. */
  maxPerEndpoint: number
  lease: string
  lease_until: number
  now: number
}

/**
 * Takes what is due, longest due first; in a transaction. The webhook's row is the lock, so the count of what is under
 * way holds on every node; nobody waits for it. A lease that ends unsettled makes its delivery due again.
 */
export async function claim(db: Database, options: ClaimOptions): Promise<Claim> {
  const { webhook_id, limit, maxPerEndpoint, lease, lease_until, now } = options
  const locked = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', webhook_id)
    .$if(engineOf(db) === 'postgres', (select) => select.forUpdate().skipLocked())
    .executeTakeFirst()
  if (!locked) return { state: (await isEnabled(db, webhook_id)) ? 'busy' : 'closed' }
  if (locked.status !== 'enabled') return { state: 'closed' }

  const { under_way } = await db
    .selectFrom('deliveries')
    .select((row) => row.fn.countAll<number>().as('under_way'))
    .where('webhook_id', '=', webhook_id)
    .where('lease', 'is not', null)
    .where('next_attempt_at', '>', now)
    .executeTakeFirstOrThrow()
  if (under_way >= maxPerEndpoint) return { state: 'busy' }
  const room = Math.min(limit, maxPerEndpoint - under_way)
  const claimed = await db
    .with(
      (due) => due('due').materialized(),
      (cte) =>
        cte
          .selectFrom('deliveries')
          .select('id')
          .where('webhook_id', '=', webhook_id)
          .where('status', '=', PENDING)
          .where('next_attempt_at', '<=', now)
          .orderBy('next_attempt_at')
          .orderBy('id')
          .limit(room),
    )
    .updateTable('deliveries')
    .set({ lease, next_attempt_at: lease_until })
    .where('id', 'in', (due) => due.selectFrom('due').select('due.id'))
    .returningAll()
    .returning((row) =>
      row.selectFrom('events').select('events.body').whereRef('events.id', '=', 'deliveries.event_id').as('body'),
    )
    .execute()
  const webhook = webhookFromRow(locked)
  const taken = claimed.map(({ body, ...row }) => Object.assign(fromRow(row), { lease, body: body as string }))
  return { state: 'claimed', webhook, deliveries: taken, next_at: taken.length === room ? now : await nextDue() }

  async function nextDue(): Promise<number | null> {
    const { next_at } = await db
      .selectFrom('deliveries')
      .select((row) => row.fn.min<number | null>('next_attempt_at').as('next_at'))
      .where('webhook_id', '=', webhook_id)
      .where('status', '=', PENDING)
      .executeTakeFirstOrThrow()
    return next_at
  }
}

async function isEnabled(db: Database, webhook_id: string): Promise<boolean> {
  const webhook = await db.selectFrom('webhooks').select('status').where('id', '=', webhook_id).executeTakeFirst()
  return webhook?.status === 'enabled'
}

export type Settled = Pick<
  Delivery,
  'status' | 'tries' | 'attempt_count' | 'attempts' | 'next_attempt_at' | 'delivered_at'
>

/** False when the lease was lost: then somebody else has sent it again, and theirs counts. */
export async function settle(
  db: Database,
  { id, lease }: Pick<Claimed, 'id' | 'lease'>,
  { attempts, ...settled }: Settled,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ ...settled, attempts: JSON.stringify(attempts), lease: null })
    .where('id', '=', id)
    .where('lease', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Gives a delivery back unsent. */
export async function release(db: Database, { id, lease }: Pick<Claimed, 'id' | 'lease'>, now: number): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ lease: null, next_attempt_at: now })
    .where('id', '=', id)
    .where('lease', '=', lease)
    .execute()
}

/** Ends every lease. Only where one service at a time has the database: there they belong to one that died. */
export async function releaseAll(db: Database, now: number): Promise<void> {
  await db.updateTable('deliveries').set({ lease: null, next_attempt_at: now }).where('lease', 'is not', null).execute()
}
