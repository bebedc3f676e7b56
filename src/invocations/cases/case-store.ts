import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { NewId } from '../../lib/id.ts'
import { jsonOf } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'
import type { CaseContent, RunCase } from './run-case.ts'

/** A stored case. Its content is undefined if it was erased. */
export type StoredCase = Omit<RunCase, 'content'> & {
  id: string
  position: number
  user_id: string | null
  content: CaseContent | undefined
}

/** A copy of an erased case has no content. */
type CopiedCase = Omit<RunCase, 'content'> & { content: CaseContent | undefined }

type Keeper = { agent_seq: number; kept_by: string }

const ROWS_AT_ONCE = 50

/** Adds cases to a set or a replay. `due_at` is the time from which a replay can run them. */
export async function insertCases(
  db: Database,
  { agent_seq, kept_by }: Keeper,
  cases: readonly CopiedCase[],
  { newId, now, due_at }: { newId: NewId; now: number; due_at: number | null },
): Promise<void> {
  for (let from = 0; from < cases.length; from += ROWS_AT_ONCE) {
    const rows = cases.slice(from, from + ROWS_AT_ONCE).map(({ name, request_id, content }, i) => ({
      id: newId('cas', now),
      agent_seq,
      kept_by,
      position: from + i,
      name,
      request_id,
      user_id: content?.context.user_id ?? null,
      erased_at: content ? null : now,
      due_at,
      content: JSON.stringify(content ?? {}),
    }))
    await db.insertInto('cases').values(rows).execute()
  }
}

/** The cases of a set or a replay, in order. Erased cases have no content. */
export async function listCases(
  db: Database,
  kept_by: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<StoredCase[]> {
  const rows = await db
    .selectFrom('cases')
    .select(STORED)
    .where('kept_by', '=', kept_by)
    .orderBy('position')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(storedCase)
}

export const STORED = ['id', 'position', 'name', 'request_id', 'user_id', 'erased_at', 'content'] as const

export function storedCase(row: Pick<Selectable<Tables['cases']>, (typeof STORED)[number]>): StoredCase {
  const { id, position, name, request_id, user_id, erased_at } = row
  const content = erased_at === null ? jsonOf('case', row)<CaseContent>('content') : undefined
  return { id, position, name, request_id, user_id, content }
}

export async function removeCases(db: Database, kept_by: string): Promise<void> {
  await db.deleteFrom('cases').where('kept_by', '=', kept_by).execute()
}

/** Removes the texts of these invocations from all copies. The cases stay, without content. */
export async function eraseCopies(db: Database, request_ids: readonly string[], now: number): Promise<void> {
  if (request_ids.length === 0) return
  await erase(db, sql`request_id in (${sql.join(request_ids)})`, now)
}

/**
 * The same for all cases that were copied from a user's invocations, or written for the user. Also removes the user
 * from replays' filters.
 */
export async function eraseCopiesOfUser(
  db: Database,
  { agent_seq, user_id }: { agent_seq: number; user_id: string },
  now: number,
): Promise<void> {
  await erase(db, sql`agent_seq = ${agent_seq} and user_id = ${user_id}`, now)
  await eraseFromFilters(db, { agent_seq, user_id })
}

async function erase(db: Database, which: RawBuilder<SqlBool>, now: number): Promise<void> {
  const nothing = { name: null, user_id: null, recorded: null, baseline: null, candidate: null, content: '{}' }
  await db
    .updateTable('cases')
    .set({ ...nothing, erased_at: now })
    .where(which)
    .where('erased_at', 'is', null)
    .execute()
}

async function eraseFromFilters(
  db: Database,
  { agent_seq, user_id }: { agent_seq: number; user_id: string },
): Promise<void> {
  const rows = await db
    .selectFrom('replays')
    .select(['id', 'filter'])
    .where('agent_seq', '=', agent_seq)
    .where('filter', 'like', '%"user_id"%')
    .execute()
  for (const row of rows) {
    const { user_id: named, session_id: _session, ...rest } = jsonOf('replay', row)<Record<string, unknown>>('filter')
    if (named !== user_id) continue
    await db
      .updateTable('replays')
      .set({ filter: JSON.stringify(rest) })
      .where('id', '=', row.id)
      .execute()
  }
}
