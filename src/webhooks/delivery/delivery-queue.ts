import { sql } from 'kysely'
import { readable } from '../../storage/damaged-rows.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { isHeld, type Lease, type LeasedTable, take } from '../../storage/leases/lease.ts'
import { isHeldBack } from '../../storage/queries/paused-projects.ts'
import type { Tables } from '../../storage/tables.ts'
import { fromRow as webhookFromRow } from '../store.ts'
import type { Webhook } from '../webhook.ts'
import type { Delivery } from './delivery.ts'
import { fromRow } from './delivery-store.ts'

// A literal instead of a parameter, because only then do the engines see that the index of pending deliveries applies.
const PENDING = sql.lit('pending')

/**
 * The webhooks that have something to send, and when their first delivery is due. It costs one look-up per webhook, no
 * matter how many deliveries wait.
 */
export async function survey(db: Database): Promise<{ project_id: string; webhook_id: string; due_at: number }[]> {
  const { rows } = await sql<{ project_id: string; webhook_id: string; due_at: number }>`
    select project_id, webhook_id, due_at from (
      with recursive lane(webhook_id) as (
        select min(webhook_id) from deliveries where status = 'pending'
        union all
        select (select min(d.webhook_id) from deliveries d where d.status = 'pending' and d.webhook_id > lane.webhook_id)
        from lane where lane.webhook_id is not null
      )
      select webhooks.project_id, lane.webhook_id,
        (select min(d.next_attempt_at) from deliveries d where d.status = 'pending' and d.webhook_id = lane.webhook_id)
          as due_at
      from lane join webhooks on webhooks.id = lane.webhook_id and webhooks.status = 'enabled'
      where not ${isHeldBack}
    ) lanes`.execute(db)
  return rows
}

/**
 * A delivery is leased to the node that sends it. The lease ends at its `next_attempt_at`, when the delivery is due
 * again.
 */
export const LEASED_DELIVERIES: LeasedTable = {
  table: 'deliveries',
  key: ['id'],
  until: 'next_attempt_at',
  condition: "status = 'pending'",
}

/** A delivery that this node may send, including its body. */
export type TakenDelivery = Delivery & { agent_id: string | null; body: string; lease: Lease }

export type TakenDeliveries = {
  /** Undefined if another node is taking the webhook's deliveries now, or if the webhook is disabled or deleted. */
  webhook: Webhook | undefined
  items: TakenDelivery[]
  /** When to check this webhook again, or `full` if the maximum number of its deliveries is in progress. */
  next: number | 'full' | undefined
}

/** How soon to check a webhook again if another node is taking its deliveries. */
const LOCKED_MS = 100

type TakeOptions = {
  webhook_id: string
  limit: number
  /** How many of the webhook's deliveries can be in progress at once, on all nodes together. */
  maxPerEndpoint: number
  owner: string
  lease_until: number
  now: number
}

/**
 * Takes due deliveries in a transaction, starting with those that have been due longest. It locks the webhook's row, so
 * the number of deliveries in progress is correct on every node. It doesn't wait for the lock.
 */
export async function takeDue(db: Database, options: TakeOptions): Promise<TakenDeliveries> {
  const { webhook_id, limit, maxPerEndpoint, owner, lease_until: until, now } = options
  const locked = await db
    .selectFrom('webhooks')
    .selectAll()
    .select(sql<boolean | number>`${isHeldBack}`.as('is_held_back'))
    .where('id', '=', webhook_id)
    .$if(engineOf(db) === 'postgres', (select) => select.forUpdate().skipLocked())
    .executeTakeFirst()
  if (!locked && (await isEnabled(db, webhook_id))) return { ...NOTHING, next: now + LOCKED_MS }
  if (locked?.status !== 'enabled' || locked.is_held_back) return NOTHING
  const { is_held_back: _held, ...found } = locked
  const [webhook] = readable(db, [found], webhookFromRow)
  if (!webhook) return NOTHING

  // The statement that takes deliveries also counts those in progress, because a second statement would cost a round
  // trip.
  const room = sql<number>`(
    select case when count(*) >= ${maxPerEndpoint} then 0
      when ${maxPerEndpoint} - count(*) < ${limit} then ${maxPerEndpoint} - count(*) else ${limit} end
    from deliveries where webhook_id = ${webhook_id} and owner is not null and next_attempt_at > ${now})`
  const due = db
    .selectFrom('deliveries')
    .select('id')
    .where('webhook_id', '=', webhook_id)
    .where('status', '=', PENDING)
    .where('next_attempt_at', '<=', now)
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(room)
  const ofEvent = (column: 'agent_id' | 'body') =>
    sql`(select ${sql.ref(column)} from events where events.id = deliveries.event_id) as ${sql.ref(column)}`
  const returning = sql`*, ${ofEvent('agent_id')}, ${ofEvent('body')}`
  const rows = await take<Row>(db, LEASED_DELIVERIES, { due, owner, until, returning })
  const items = readable(db, rows, ({ agent_id, body, ...row }) =>
    Object.assign(fromRow(row), { agent_id, body, lease: { key: [row.id], owner, until } }),
  )
  const next_at = rows.length === limit ? now : await nextDue(db, webhook_id)
  const isFull = rows.length < limit && next_at !== undefined && next_at <= now
  return { webhook, items, next: isFull ? 'full' : next_at }
}

const NOTHING: TakenDeliveries = { webhook: undefined, items: [], next: undefined }

async function nextDue(db: Database, webhook_id: string): Promise<number | undefined> {
  const { next_at } = await db
    .selectFrom('deliveries')
    .select((row) => row.fn.min<number | null>('next_attempt_at').as('next_at'))
    .where('webhook_id', '=', webhook_id)
    .where('status', '=', PENDING)
    .executeTakeFirstOrThrow()
  return next_at ?? undefined
}

type Row = Tables['deliveries'] & Pick<Tables['events'], 'agent_id' | 'body'>

async function isEnabled(db: Database, webhook_id: string): Promise<boolean> {
  const webhook = await db.selectFrom('webhooks').select('status').where('id', '=', webhook_id).executeTakeFirst()
  return webhook?.status === 'enabled'
}

export type AfterAttempt = Pick<
  Delivery,
  'status' | 'tries' | 'attempt_count' | 'attempts' | 'next_attempt_at' | 'delivered_at'
>

const ENDED_COLUMNS = {
  status: 'text',
  tries: 'bigint',
  attempt_count: 'bigint',
  attempts: 'text',
  next_attempt_at: 'bigint',
  delivered_at: 'bigint',
}

/**
 * Stores the results of attempts with one statement. Returns the IDs of the deliveries whose leases were still held.
 * Any other delivery was sent again by another node, whose result is used.
 */
export async function endAttempts(
  db: Database,
  ended: readonly { lease: Lease; after: AfterAttempt }[],
): Promise<ReadonlySet<string>> {
  if (ended.length === 0) return new Set()
  const rows = ended.map(({ lease: { key, owner }, after: { attempts, ...after } }) => {
    return { id: key[0], owner, ...after, attempts: JSON.stringify(attempts) }
  })
  const json = JSON.stringify(rows)
  const columns = Object.entries({ id: 'text', owner: 'text', ...ENDED_COLUMNS })
  const given =
    engineOf(db) === 'postgres'
      ? sql`jsonb_to_recordset(${json}::jsonb) as ended(${sql.raw(columns.map((column) => column.join(' ')).join(', '))})`
      : sql`(select ${sql.raw(columns.map(([name]) => `value ->> '${name}' as ${name}`).join(', '))}
          from json_each(${json})) as ended`
  const sets = Object.keys(ENDED_COLUMNS).map((name) => sql`${sql.ref(name)} = ${sql.ref(`ended.${name}`)}`)
  const { rows: held } = await sql<{ id: string }>`
    update deliveries set owner = null, ${sql.join(sets)} from ${given}
    where deliveries.id = ended.id and deliveries.owner = ended.owner and deliveries.status = 'pending'
    returning deliveries.id`.execute(db)
  return new Set(held.map(({ id }) => id))
}

/** Gives back a delivery that wasn't sent. */
export async function release(db: Database, { lease }: Pick<TakenDelivery, 'lease'>, now: number): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ owner: null, next_attempt_at: now })
    .where(isHeld(LEASED_DELIVERIES, lease))
    .execute()
}
