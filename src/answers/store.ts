import { type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../lib/id.ts'
import { laneKey } from '../lib/work/lane-key.ts'
import type { Parts } from '../operation/parts.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import type { Database } from '../storage/database.ts'
import { bulkTable } from '../storage/journal/bulk-table.ts'
import type { Write } from '../storage/journal/rows.ts'
import { anyOf, findAged } from '../storage/queries/aged-rows.ts'
import { removeRows } from '../storage/queries/remove-rows.ts'
import type { Tables } from '../storage/tables.ts'
import { AnsweredTrigger, type ChatAnswer } from './conversation-answer.ts'

/** The rows that a run writes at its end, and when it asks people. */
export const ANSWERS = bulkTable('chat_answers')

type AnsweringRun = { request_id: string; context: object; user_id: string | null; time: number }
type AnsweringAgent = { id: string; project_id: string }

/**
 * What a trigger's run sends to its conversation: one row for its answer (`[null]`), or one for each call that it asks
 * about. They commit with their cause. Nothing, if the run isn't part of a conversation.
 */
export function answerWrites(
  { request_id, context, user_id, time }: AnsweringRun,
  { id: agent_id, project_id }: AnsweringAgent,
  calls: readonly (string | null)[],
  { newId }: Pick<Parts, 'newId'>,
): Write[] {
  const { trigger } = AnsweredTrigger.safeParse(context).data ?? {}
  if (!trigger) return []
  const { key: conversation, place } = trigger.conversation
  return calls.map((call_id) => ({
    into: ANSWERS,
    lane: laneKey(project_id, trigger.id),
    row: {
      id: newId('ans', time),
      trigger_id: trigger.id,
      agent_id,
      request_id,
      user_id,
      call_id,
      conversation,
      place: JSON.stringify(place),
      status: 'pending',
      parts_sent: 0,
      tries: 0,
      next_attempt_at: time,
      created_at: time,
    },
  }))
}

/** The answers of these runs, by run. */
export async function answersOf(db: Database, request_ids: readonly string[]): Promise<Map<string, ChatAnswer>> {
  if (request_ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('chat_answers')
    .selectAll()
    .where('request_id', 'in', request_ids)
    .where('call_id', 'is', null)
    .execute()
  return new Map(readable(db, rows, fromRow).map((answer) => [answer.request_id, answer]))
}

/** Whether a question has arrived in the conversation, or is being sent to it. Before that, no message answers it. */
export async function isShown(
  db: Database,
  { request_id, call_id }: { request_id: string; call_id: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('chat_answers')
    .select('id')
    .where('request_id', '=', request_id)
    .where('call_id', '=', call_id)
    .where((answer) => answer.or([answer('status', '=', 'sent'), answer('owner', 'is not', null)]))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Nothing more is sent about runs that are erased. */
export async function removeOfRequests(db: Database, request_ids: readonly string[]): Promise<void> {
  if (request_ids.length === 0) return
  await db.deleteFrom('chat_answers').where('request_id', 'in', request_ids).execute()
}

export async function removeOfUser(
  db: Database,
  { agent_id, user_id }: { agent_id: string; user_id: string },
): Promise<void> {
  await db.deleteFrom('chat_answers').where('agent_id', '=', agent_id).where('user_id', '=', user_id).execute()
}

/** Removes at most `limit` older answers; returns how many. */
export function removeOlder(db: Database, before: number, limit: number): Promise<number> {
  return removeRows(db, 'chat_answers', { which: sql<SqlBool>`id < ${firstIdAt('ans', before)}`, limit })
}

/** Removes at most `limit` answers that their project keeps no longer; returns how many. */
export async function removeOfProjects(db: Database, now: number, limit: number): Promise<number> {
  const olderOf = (agent_id: unknown, before: number) =>
    sql<SqlBool>`agent_id = ${agent_id} and id < ${firstIdAt('ans', before)}`
  const owners = { table: 'agents', key: 'id' } as const
  const aged = await findAged(db, owners, now, (agent_id, before) =>
    anyOf(sql`chat_answers where ${olderOf(agent_id, before)}`),
  )
  if (!aged) return 0
  return removeRows(db, 'chat_answers', { which: olderOf(aged.owner, aged.before), limit })
}

/** Removes at most `limit` answers of triggers that were deleted; returns how many. */
export function removeOrphans(db: Database, limit: number): Promise<number> {
  const which = sql<SqlBool>`not exists (select 1 from triggers where triggers.id = trigger_id)`
  return removeRows(db, 'chat_answers', { which, limit })
}

export function fromRow(row: Tables['chat_answers']): ChatAnswer {
  return { ...row, status: row.status as ChatAnswer['status'], place: jsonOf('answer', row)('place') }
}
