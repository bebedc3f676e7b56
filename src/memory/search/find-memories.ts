import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { orderOf, type Page, type PageQuery } from '../../storage/queries/page.ts'
import { countAll } from '../../storage/queries/stretches.ts'
import type { Memory } from '../memory.ts'
import { inMemoryScope } from '../memory-filter.ts'
import { findMany } from '../store.ts'
import { countMemories, listUsersOfSession } from '../warm/scope-counts.ts'

type Filter = { kind?: string | undefined; before?: number | undefined; after?: number | undefined }

/** A page of memories. Their seqs are found first, by indexes alone: rows before the page are not read. */
export async function findMemories(
  db: Database,
  scope: MemoryScope,
  query: PageQuery,
  filter: Filter,
): Promise<Page<Memory>> {
  const { kind, before, after } = filter
  let select = db.selectFrom('memories').select('memories.seq').where(inMemoryScope(scope))
  // No index begins with a session, because sessions are counted for each user: so those who have it are known.
  if (scope.session_id !== undefined && scope.user_id === undefined) {
    const users = await listUsersOfSession(db, scope)
    if (users.length === 0) return { items: [], total: 0 }
    select = select.where(isUser(db, users))
  }
  // The words of the index of memories that are no turns.
  if (kind !== undefined && kind !== 'turn') select = select.where(sql<SqlBool>`memories.kind <> 'turn'`)
  if (kind !== undefined) select = select.where('memories.kind', '=', kind)
  if (before !== undefined) select = select.where('memories.created_at', '<', before)
  if (after !== undefined) select = select.where('memories.created_at', '>', after)
  const total = (await countKnown(db, scope, filter)) ?? (await countAll([select]))

  const { column, direction } = orderOf(query.sort)
  const order = (await isFew(db, scope, query, total)) ? unindexed(column) : sql.ref(`memories.${column}`)
  const found = await select
    .orderBy(order, direction)
    .orderBy('memories.seq', direction)
    .limit(query.limit)
    .offset(query.offset)
    .execute()
  const seqs = found.map(({ seq }) => seq)
  const memories = await findMany(db, scope, seqs)
  return { items: seqs.flatMap((seq) => memories.get(seq) ?? []), total }
}

/** The users are one parameter, because both engines limit the number of parameters. */
function isUser(db: Database, users: readonly string[]): RawBuilder<SqlBool> {
  return engineOf(db) === 'postgres'
    ? sql`memories.user_id = any(${users}::text[])`
    : sql`memories.user_id in (select value from json_each(${JSON.stringify(users)}))`
}

/**
 * The stored counts distinguish turns from other memories, but know nothing about times. Undefined when they do not
 * help.
 */
async function countKnown(db: Database, scope: MemoryScope, filter: Filter): Promise<number | undefined> {
  const { kind, before, after } = filter
  if (before !== undefined || after !== undefined || (kind !== undefined && kind !== 'turn')) return undefined
  const { turns, notes } = await countMemories(db, scope)
  return kind === undefined ? turns + notes : turns
}

/**
 * Whether SQLite should sort the memories of a user or session, instead of looking for them among those of the agent in the
 * order of time. PostgreSQL knows from its statistics what is quicker.
 */
async function isFew(db: Database, scope: MemoryScope, query: PageQuery, total: number): Promise<boolean> {
  const { agent_seq, user_id, session_id } = scope
  if (engineOf(db) === 'postgres' || (user_id === undefined) === (session_id === undefined)) return false
  const { turns, notes } = await countMemories(db, { agent_seq })
  const passed = ((turns + notes) / Math.max(1, total)) * (query.offset + query.limit)
  return total <= passed
}

/** An expression, so that no index is thought of. */
function unindexed(column: string): RawBuilder<unknown> {
  return sql`+${sql.ref(`memories.${column}`)}`
}
