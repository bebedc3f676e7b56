import { type SqlBool, sql } from 'kysely'
import { notFound } from '../errors.ts'
import { firstIdAt } from '../lib/id.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import type { Database } from '../storage/database.ts'
import { anyOf, findAged } from '../storage/queries/aged-rows.ts'
import { longPage, type Page, type PageQuery } from '../storage/queries/page.ts'
import { removeRows } from '../storage/queries/remove-rows.ts'
import type { IncomingDelivery, IncomingOutcome } from './incoming-delivery.ts'

/**
 * Stores a delivery. Returns undefined if it was stored, or else the earlier delivery of the same event. That one insert
 * decides which delivery of an event starts its run; others wait until it has committed.
 */
export async function insert(db: Database, delivery: IncomingDelivery): Promise<IncomingDelivery | undefined> {
  const inserted = await db
    .insertInto('incoming_deliveries')
    .values({ ...delivery, headers: JSON.stringify(delivery.headers) })
    .onConflict((row) => row.columns(['trigger_id', 'event_key']).where('event_key', 'is not', null).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (inserted) return undefined
  const row = await db
    .updateTable('incoming_deliveries')
    .set((column) => ({ repeats: column('repeats', '+', 1) }))
    .where('trigger_id', '=', delivery.trigger_id)
    .where('event_key', '=', delivery.event_key)
    .returningAll()
    .executeTakeFirstOrThrow()
  return fromRow(row)
}

/** The delivery has continued this run, instead of starting one. */
export async function setRequest(db: Database, id: string, request_id: string): Promise<void> {
  await db.updateTable('incoming_deliveries').set({ request_id }).where('id', '=', id).execute()
}

export async function get(db: Database, trigger_id: string, id: string): Promise<IncomingDelivery> {
  const row = await db
    .selectFrom('incoming_deliveries')
    .selectAll()
    .where('id', '=', id)
    .where('trigger_id', '=', trigger_id)
    .executeTakeFirst()
  if (!row) throw notFound('Delivery', id)
  return fromRow(row)
}

export async function list(
  db: Database,
  trigger_id: string,
  query: PageQuery,
  outcome?: IncomingOutcome,
): Promise<Page<IncomingDelivery>> {
  let select = db.selectFrom('incoming_deliveries').selectAll().where('trigger_id', '=', trigger_id)
  if (outcome !== undefined) select = select.where('outcome', '=', outcome)
  const { items, total } = await longPage(db, select, query, { order: 'created_at' })
  return { items: readable(db, items, fromRow), total }
}

/** When each of these triggers last received a request. */
export async function lastTimes(db: Database, trigger_ids: readonly string[]): Promise<Map<string, number>> {
  const times = new Map<string, number>()
  for (const trigger_id of trigger_ids) {
    const last = await db
      .selectFrom('incoming_deliveries')
      .select('created_at')
      .where('trigger_id', '=', trigger_id)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (last) times.set(trigger_id, last.created_at)
  }
  return times
}

const ERASED = { user_id: null, session_id: null, reason: null, headers: '{}', body: null }

/**
 * When a run is erased, the payload that started it is erased too. The event's key stays, so that the event starts no
 * other run.
 */
export async function eraseOfRequests(db: Database, request_ids: readonly string[]): Promise<void> {
  if (request_ids.length === 0) return
  await db.updateTable('incoming_deliveries').set(ERASED).where('request_id', 'in', request_ids).execute()
}

type UserOfAgent = { agent_id: string; user_id: string }

export async function listOfUser(
  db: Database,
  { agent_id, user_id }: UserOfAgent,
  after: string,
  limit: number,
): Promise<IncomingDelivery[]> {
  const rows = await db
    .selectFrom('incoming_deliveries')
    .selectAll()
    .where('agent_id', '=', agent_id)
    .where('user_id', '=', user_id)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return readable(db, rows, fromRow)
}

/** Returns how many were erased. */
export async function eraseOfUser(db: Database, { agent_id, user_id }: UserOfAgent): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('incoming_deliveries')
    .set(ERASED)
    .where('agent_id', '=', agent_id)
    .where('user_id', '=', user_id)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Removes at most `limit` older deliveries; returns how many. */
export function removeOlder(db: Database, before: number, limit: number): Promise<number> {
  return removeRows(db, 'incoming_deliveries', { which: sql<SqlBool>`id < ${firstIdAt('inc', before)}`, limit })
}

/** Removes at most `limit` deliveries that are past their project's retention. Returns how many. */
export async function removeOfProjects(db: Database, now: number, limit: number): Promise<number> {
  const olderOf = (agent_id: unknown, before: number) =>
    sql<SqlBool>`agent_id = ${agent_id} and id < ${firstIdAt('inc', before)}`
  const owners = { table: 'agents', key: 'id' } as const
  const aged = await findAged(db, owners, now, (agent_id, before) =>
    anyOf(sql`incoming_deliveries where ${olderOf(agent_id, before)}`),
  )
  if (!aged) return 0
  return removeRows(db, 'incoming_deliveries', { which: olderOf(aged.owner, aged.before), limit })
}

/** Removes at most `limit` deliveries of triggers that were deleted; returns how many. */
export function removeOrphans(db: Database, limit: number): Promise<number> {
  const which = sql<SqlBool>`not exists (select 1 from triggers where triggers.id = trigger_id)`
  return removeRows(db, 'incoming_deliveries', { which, limit })
}

function fromRow(row: Omit<IncomingDelivery, 'outcome' | 'headers'> & { outcome: string; headers: string }) {
  return {
    ...row,
    outcome: row.outcome as IncomingOutcome,
    headers: jsonOf('delivery', row)<Record<string, string>>('headers'),
  }
}
