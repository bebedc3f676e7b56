import type { Selectable } from 'kysely'
import { notFound } from '../errors.ts'
import * as files from '../files/store.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { firstFitting } from '../storage/queries/first-fitting.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isGoingOn } from '../storage/queries/paused-projects.ts'
import type { Tables } from '../storage/tables.ts'
import type { Schedule } from './schedule.ts'

type ScheduleRow = Selectable<Tables['schedules']>

export async function get(db: Database, agent_id: string, id: string): Promise<Schedule> {
  const row = await db
    .selectFrom('schedules')
    .selectAll()
    .where('id', '=', id)
    .where('agent_id', '=', agent_id)
    .executeTakeFirst()
  if (!row) throw notFound('Schedule', id)
  return fromRow(row)
}

/** Locks the schedule, if it exists, until the transaction ends, so that a tick happens before or after the change. */
export async function lock(db: Database, id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await db.selectFrom('schedules').select('id').where('id', '=', id).forUpdate().execute()
}

export async function list(
  db: Database,
  query: PageQuery,
  { agent_id, enabled }: { agent_id: string; enabled?: boolean | undefined },
): Promise<Page<Schedule>> {
  let select = db.selectFrom('schedules').selectAll().where('agent_id', '=', agent_id)
  if (enabled !== undefined) select = select.where('enabled', '=', enabled ? 1 : 0)
  const { items, total } = await page(db, select, query)
  const ofPage = firstFitting(items, ({ message, context }) => message.length + context.length)
  return { items: readable(db, ofPage, fromRow), total }
}

export async function count(db: Database, agent_id: string): Promise<number> {
  return countAll(db.selectFrom('schedules').where('agent_id', '=', agent_id))
}

/** The schedules with the next ticks, in order. Those that a pause delays are left out. */
export async function listNearest(db: Database, limit: number): Promise<(Schedule & { next_at: number })[]> {
  const rows = await db
    .selectFrom('schedules')
    .innerJoin('agents', 'agents.id', 'schedules.agent_id')
    .selectAll('schedules')
    .where('next_at', 'is not', null)
    .where((row) => row.or([row('parked', '=', 0), row('agents.status', '=', 'running')]))
    .where(isGoingOn)
    .orderBy('next_at')
    .limit(limit)
    .execute()
  return readable(db, rows, (row) => ({ ...fromRow(row), next_at: row.next_at as number }))
}

export async function insert(db: Database, schedule: Schedule): Promise<void> {
  await db.insertInto('schedules').values(toRow(schedule)).execute()
  await nameFiles(db, schedule)
  await announce(db, 'schedules', schedule.id)
}

export async function update(db: Database, schedule: Schedule): Promise<void> {
  await db.updateTable('schedules').set(toRow(schedule)).where('id', '=', schedule.id).execute()
  await db.deleteFrom('schedule_files').where('schedule_id', '=', schedule.id).execute()
  await nameFiles(db, schedule)
  await announce(db, 'schedules', schedule.id)
}

/**
 * Takes a tick: stores the schedule's state after it. Returns false if another node has the tick, or if the schedule
 * has changed since it was read. It doesn't wait for a tick that another node is taking.
 */
export async function takeTick(db: Database, read: Schedule, after: Schedule): Promise<boolean> {
  const wanted = db
    .selectFrom('schedules')
    .select('id')
    .where('id', '=', read.id)
    .where('next_at', '=', read.next_at)
    .where('parked', '=', read.parked ? 1 : 0)
    .where('updated_at', '=', read.updated_at)
    .$if(engineOf(db) === 'postgres', (schedule) => schedule.forUpdate().skipLocked())
  const { numUpdatedRows } = await db
    .updateTable('schedules')
    .set(toRow(after))
    .where('id', 'in', wanted)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('schedules').where('id', '=', id).execute()
  await announce(db, 'schedules', id)
}

type ScheduleOwner = { agent_id: string; user_id: string }

export async function listOfUser(db: Database, { agent_id, user_id }: ScheduleOwner): Promise<Schedule[]> {
  const ofUser = db.selectFrom('schedules').selectAll().where('agent_id', '=', agent_id).where('user_id', '=', user_id)
  return readable(db, await ofUser.orderBy('id').execute(), fromRow)
}

/** Returns how many it removed. */
export async function removeOfUser(db: Database, { agent_id, user_id }: ScheduleOwner): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('schedules')
    .where('agent_id', '=', agent_id)
    .where('user_id', '=', user_id)
    .executeTakeFirst()
  await announce(db, 'schedules')
  return Number(numDeletedRows)
}

async function nameFiles(db: Database, { id: schedule_id, attachments }: Schedule): Promise<void> {
  const named = new Set(attachments.map(({ file_id }) => file_id))
  const rows = [...named].map((file_id) => ({ file_id, schedule_id }))
  if (rows.length > 0) await db.insertInto('schedule_files').values(rows).execute()
}

/** Removes files that schedules created and no longer name. Files of their unfinished runs stay. */
export function removeFiles(db: Database, limit: number): Promise<number> {
  const unfinished = db.selectFrom('runs').select('schedule_id').where('schedule_id', 'is not', null)
  return files.removeOfSchedules(db, unfinished, limit)
}

function toRow({ attachments, context, enabled, parked, authors, ...schedule }: Schedule): ScheduleRow {
  return {
    ...schedule,
    attachments: JSON.stringify(attachments),
    context: JSON.stringify(context),
    user_id: context.user_id ?? null,
    enabled: enabled ? 1 : 0,
    parked: parked ? 1 : 0,
    authors: JSON.stringify(authors),
  }
}

function fromRow({ user_id: _user, ...row }: ScheduleRow): Schedule {
  const json = jsonOf('schedule', row)
  return {
    ...row,
    attachments: json('attachments'),
    context: json('context'),
    authors: json('authors'),
    overlap: row.overlap as Schedule['overlap'],
    catch_up: row.catch_up as Schedule['catch_up'],
    on_budget: row.on_budget as Schedule['on_budget'],
    priority: row.priority as Schedule['priority'],
    enabled: row.enabled === 1,
    disabled_reason: row.disabled_reason as Schedule['disabled_reason'],
    parked: row.parked === 1,
    last_missed_reason: row.last_missed_reason as Schedule['last_missed_reason'],
  }
}
