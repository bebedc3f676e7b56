import { sql } from 'kysely'
import { notFound } from '../../errors.ts'
import { firstIdAt } from '../../lib/id.ts'
import { jsonOf, readable } from '../../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../../storage/database.ts'
import { bulkTable } from '../../storage/journal/bulk-table.ts'
import { anyOf, findAged } from '../../storage/queries/aged-rows.ts'
import { longPage, type Page, type PageQuery } from '../../storage/queries/page.ts'
import { isShown, type ShownAgents } from '../../storage/queries/shown-agents.ts'
import type { Delivery } from './delivery.ts'

export const EVENTS = bulkTable('events')
export const DELIVERIES = bulkTable('deliveries')

export async function find(db: Database, id: string): Promise<Delivery | undefined> {
  const row = await db.selectFrom('deliveries').selectAll().where('id', '=', id).executeTakeFirst()
  return row && fromRow(row)
}

export async function get(db: Database, webhook_id: string, id: string): Promise<Delivery> {
  const row = await db
    .selectFrom('deliveries')
    .selectAll()
    .where('webhook_id', '=', webhook_id)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound('Delivery', id)
  return fromRow(row)
}

export async function getBody(db: Database, event_id: string): Promise<string> {
  const { body } = await db
    .selectFrom('events')
    .select('body')
    .where('id', '=', event_id)
    .executeTakeFirstOrThrow(() => notFound('Event', event_id))
  return body
}

/** The agent that a delivery is about. Null if it is about none, or if the delivery doesn't exist. */
export async function findAgentOf(db: Database, webhook_id: string, id: string): Promise<string | null> {
  const row = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'deliveries.event_id')
    .select('events.agent_id')
    .where('deliveries.webhook_id', '=', webhook_id)
    .where('deliveries.id', '=', id)
    .executeTakeFirst()
  return row?.agent_id ?? null
}

type Filter = { shown: ShownAgents; status?: Delivery['status'] | undefined; event?: Delivery['event'] | undefined }

export async function list(
  db: Database,
  webhook_id: string,
  query: PageQuery,
  { shown, status, event }: Filter,
): Promise<Page<Delivery>> {
  let select = db.selectFrom('deliveries').selectAll().where('webhook_id', '=', webhook_id)
  if (event !== undefined) select = select.where('event', '=', event)
  if (status !== undefined) select = select.where('status', '=', status)
  // A webhook for all agents may have deliveries about an agent whose gate this request doesn't pass.
  if (shown.except.length > 0) {
    select = select.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('events')
          .select('events.id')
          .whereRef('events.id', '=', 'deliveries.event_id')
          .where(isShown(db, sql.ref('events.agent_id'), shown)),
      ),
    )
  }
  const { items, total } = await longPage(db, select, query, { order: 'created_at' })
  return { items: readable(db, items, fromRow), total }
}

/** Makes the delivery due immediately and keeps its earlier attempts. Returns false while it is being sent. */
export async function restart(db: Database, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ status: 'pending', tries: 0, next_attempt_at: now })
    .where('id', '=', id)
    .where('owner', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await announce(db, 'deliveries')
  return numUpdatedRows > 0n
}

/**
 * Removes at most `limit` older deliveries. Returns how many. IDs sort by time, so the primary key serves as the index.
 */
export function removeOlder(db: Database, before: number, limit: number): Promise<number> {
  return together(db, async (transaction) => {
    const oldest = await transaction
      .selectFrom('deliveries')
      .select('id')
      .where('id', '<', firstIdAt('dlv', before))
      .orderBy('id')
      .limit(limit)
      .$if(engineOf(db) === 'postgres', (select) => select.forUpdate().skipLocked())
      .execute()
    return removeByIds(
      transaction,
      oldest.map(({ id }) => id),
    )
  })
}

/** Removes at most `limit` ended deliveries that are past their project's retention. Returns how many. */
export async function removeOfProjects(db: Database, now: number, limit: number): Promise<number> {
  const olderOf = (webhook_id: unknown, before: number) =>
    sql`deliveries where webhook_id = ${webhook_id} and id < ${firstIdAt('dlv', before)} and status <> 'pending'`
  const owners = { table: 'webhooks', key: 'id' } as const
  const aged = await findAged(db, owners, now, (webhook_id, before) => anyOf(olderOf(webhook_id, before)))
  if (!aged) return 0
  const { rows } = await sql<{ id: string }>`
    select id from ${olderOf(aged.owner, aged.before)} limit ${limit}`.execute(db)
  return together(db, (transaction) =>
    removeByIds(
      transaction,
      rows.map(({ id }) => id),
    ),
  )
}

/** Removes at most `limit` deliveries of deleted webhooks and ended listeners. Returns how many. */
export async function removeOrphans(db: Database, limit: number): Promise<number> {
  const [webhook_id] = await listOrphaned(db)
  if (webhook_id === undefined) return 0
  return together(db, async (transaction) => {
    const left = await transaction
      .selectFrom('deliveries')
      .select('id')
      .where('webhook_id', '=', webhook_id)
      .limit(limit)
      .$if(engineOf(db) === 'postgres', (select) => select.forUpdate().skipLocked())
      .execute()
    return removeByIds(
      transaction,
      left.map(({ id }) => id),
    )
  })
}

async function listOrphaned(db: Database): Promise<string[]> {
  const { rows } = await sql<{ webhook_id: string }>`
    select webhook_id from (
      with recursive owner(webhook_id) as (
        select min(webhook_id) from deliveries
        union all
        select (select min(d.webhook_id) from deliveries d where d.webhook_id > owner.webhook_id)
        from owner where owner.webhook_id is not null
      )
      select owner.webhook_id from owner
      left join webhooks on webhooks.id = owner.webhook_id
      left join listeners on listeners.id = owner.webhook_id
      where owner.webhook_id is not null and webhooks.id is null and listeners.id is null
    ) orphaned`.execute(db)
  return rows.map(({ webhook_id }) => webhook_id)
}

/** Removes deliveries, and each event whose last delivery is removed. */
async function removeByIds(db: Database, ids: string[]): Promise<number> {
  if (ids.length === 0) return 0
  const removed = await db.deleteFrom('deliveries').where('id', 'in', ids).returning('event_id').execute()
  const event_ids = [...new Set(removed.map(({ event_id }) => event_id))]
  // Two nodes may remove the last deliveries of an event at once. After this lock, the second one sees that none is
  // left.
  if (engineOf(db) === 'postgres' && event_ids.length > 0) {
    await db.selectFrom('events').select('id').where('id', 'in', event_ids).orderBy('id').forUpdate().execute()
  }
  await db
    .deleteFrom('events')
    .where('id', 'in', event_ids)
    .where((event) =>
      event.not(
        event.exists(
          event.selectFrom('deliveries').select('deliveries.id').whereRef('deliveries.event_id', '=', 'events.id'),
        ),
      ),
    )
    .execute()
  return removed.length
}

function together<T>(db: Database, work: (transaction: Database) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work)
}

type DeliveryRow = Omit<Delivery, 'event' | 'status' | 'attempts'> & { event: string; status: string; attempts: string }

export function fromRow(row: DeliveryRow): Delivery {
  return {
    ...row,
    event: row.event as Delivery['event'],
    status: row.status as Delivery['status'],
    attempts: jsonOf('delivery', row)('attempts'),
  }
}
