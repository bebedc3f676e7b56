import { sql } from 'kysely'
import { readable } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import { fromRow, toRow } from './store.ts'
import type { Webhook } from './webhook.ts'

/** Until the transaction ends, no other transaction can add callbacks to the run. The run needn't be stored yet. */
export async function hold(db: Database, request_id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await sql`select pg_advisory_xact_lock(hashtextextended(${`callbacks of ${request_id}`}, 0))`.execute(db)
}

/** A run's callbacks, oldest first. There are only a few. */
export async function listOfRequest(db: Database, request_id: string): Promise<Webhook[]> {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('request_id', '=', request_id)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return readable(db, rows, fromRow)
}

/** The runs that have callbacks and, as far as is known, have not ended. */
export async function listRequests(db: Database): Promise<string[]> {
  const rows = await db
    .selectFrom('webhooks')
    .leftJoin('invocations', 'invocations.id', 'webhooks.request_id')
    .select('webhooks.request_id')
    .distinct()
    .where('webhooks.request_id', 'is not', null)
    .where('invocations.id', 'is', null)
    .execute()
  return rows.flatMap(({ request_id }) => request_id ?? [])
}

export async function insert(db: Database, callback: Webhook & { request_id: string }): Promise<void> {
  await db.insertInto('webhooks').values(toRow(callback)).execute()
  await announce(db, 'callbacks', callback.request_id)
}

/** Removes a callback. Nothing more is sent to it. Its deliveries are removed later, as for every deleted webhook. */
export async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('webhooks').where('id', '=', id).execute()
}

export async function removeOfRequests(db: Database, request_ids: readonly string[]): Promise<void> {
  if (request_ids.length === 0) return
  await db.deleteFrom('webhooks').where('request_id', 'in', request_ids).execute()
}

/** Removes at most `limit` callbacks of runs that are no longer stored. Returns how many. */
export async function removeOfMissingRuns(db: Database, _before: number, limit: number): Promise<number> {
  const orphans = db
    .selectFrom('webhooks')
    .select('webhooks.id')
    .leftJoin('invocations', 'invocations.id', 'webhooks.request_id')
    .leftJoin('runs', 'runs.id', 'webhooks.request_id')
    .where('webhooks.request_id', 'is not', null)
    .where('invocations.id', 'is', null)
    .where('runs.id', 'is', null)
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('webhooks').where('id', 'in', orphans).executeTakeFirst()
  return Number(numDeletedRows)
}

/** Only callbacks younger than this can have missed the end of their run. */
const RECHECKED_MS = 600_000
/** The events with which a run ends. */
export const ENDS = ['agent.completed', 'agent.failed', 'agent.cancelled']

export type Untold = { webhook_id: string; request_id: string; agent_seq: number }

/** Callbacks that were created just as their run ended, and were not notified of its end. */
export async function listUntold(db: Database, now: number, only?: string): Promise<Untold[]> {
  return db
    .selectFrom('webhooks')
    .innerJoin('invocations', 'invocations.id', 'webhooks.request_id')
    .select(['webhooks.id as webhook_id', 'invocations.id as request_id', 'invocations.agent_seq'])
    .where('webhooks.request_id', 'is not', null)
    .where('webhooks.status', '=', 'enabled')
    .where('webhooks.created_at', '>', now - RECHECKED_MS)
    .where(({ exists, not, selectFrom }) => {
      const told = selectFrom('deliveries').whereRef('deliveries.webhook_id', '=', 'webhooks.id')
      return not(exists(told.select('deliveries.id').where('deliveries.event', 'in', ENDS)))
    })
    .$if(only !== undefined, (select) => select.where('webhooks.id', '=', only as string))
    .execute()
}
