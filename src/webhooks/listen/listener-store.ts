import { sql } from 'kysely'
import { jsonOf } from '../../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../../storage/database.ts'
import { countAll } from '../../storage/queries/count-rows.ts'
import { isShown } from '../../storage/queries/shown-agents.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Listener } from './listener.ts'

export async function find(db: Database, id: string): Promise<Listener | undefined> {
  const row = await db.selectFrom('listeners').selectAll().where('id', '=', id).executeTakeFirst()
  return row && { ...row, events: jsonOf('listener', row)('events') }
}

/** How many active listeners the project has. None can be added until the transaction ends. */
export async function countAndHold(db: Database, project_id: string, now: number): Promise<number> {
  if (engineOf(db) === 'postgres') {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`listeners of ${project_id}`}, 0))`.execute(db)
  }
  return countAll(db.selectFrom('listeners').where('project_id', '=', project_id).where('expires_at', '>', now))
}

export async function insert(db: Database, listener: Listener): Promise<void> {
  await db
    .insertInto('listeners')
    .values({ ...listener, events: JSON.stringify(listener.events) })
    .execute()
  await announce(db, 'webhooks', listener.project_id)
}

export async function prolong(db: Database, id: string, expires_at: number): Promise<void> {
  const update = db.updateTable('listeners').set({ expires_at }).where('id', '=', id)
  const prolonged = await update.returning('project_id').executeTakeFirst()
  if (prolonged) await announce(db, 'webhooks', prolonged.project_id)
}

type ListenerDelivery = Pick<Delivery, 'id' | 'event_id' | 'event' | 'created_at'> & { body: string }

/** The events that wait for the listener, oldest first, without those about agents in `except`. */
export async function listHeard(
  db: Database,
  listener_id: string,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<ListenerDelivery[]> {
  const rows = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'deliveries.event_id')
    .select(['deliveries.id', 'event_id', 'event', 'created_at', 'body'])
    .where('webhook_id', '=', listener_id)
    .where('status', '=', 'pending')
    .where(isShown(db, sql.ref('events.agent_id'), { only: null, except }))
    .orderBy('created_at')
    .orderBy('deliveries.id')
    .limit(limit)
    .execute()
  return rows as ListenerDelivery[]
}

export async function markReceived(
  db: Database,
  listener_id: string,
  delivery_ids: string[],
  now: number,
): Promise<void> {
  if (delivery_ids.length === 0) return
  await db
    .updateTable('deliveries')
    .set({ status: 'delivered', delivered_at: now, next_attempt_at: null })
    .where('webhook_id', '=', listener_id)
    .where('id', 'in', delivery_ids)
    .execute()
}

/** Removes listeners that ended before `before`. Their deliveries are removed later. */
export async function removeExpired(db: Database, before: number): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('listeners').where('expires_at', '<', before).executeTakeFirst()
  return Number(numDeletedRows)
}
