import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { countAll } from '../../storage/queries/count-rows.ts'
import { orderOf, type Page, type PageQuery } from '../../storage/queries/page.ts'
import type { Memory } from '../memory.ts'
import { inMemoryScope } from '../memory-filter.ts'
import { findMany } from '../store.ts'
import { countMemories } from '../warm/scope-counts.ts'

type Filter = { kind?: string | undefined; before?: number | undefined; after?: number | undefined }

/** A page of memories. Their seqs are first found in indexes alone, so rows before the page aren't read. */
export async function findMemories(
  db: Database,
  scope: MemoryScope,
  query: PageQuery,
  { kind, before, after }: Filter,
): Promise<Page<Memory>> {
  let ofScope = db.selectFrom('memories').select('memories.seq').where(inMemoryScope(scope))
  const size = await countMemories(db, scope)
  if (scope.user_id === undefined && scope.session_id !== undefined) ofScope = ofScope.where(isOfUserWithSession(scope))
  // This is the condition of the index of memories that aren't turns.
  if (kind !== undefined && kind !== 'turn') ofScope = ofScope.where(sql<SqlBool>`memories.kind <> 'turn'`)
  if (kind !== undefined) ofScope = ofScope.where('memories.kind', '=', kind)
  const within = (time: RawBuilder<number>) => {
    let ranged = ofScope
    if (before !== undefined) ranged = ranged.where(time, '<', before)
    if (after !== undefined) ranged = ranged.where(time, '>', after)
    return ranged
  }

  const isCounted = before === undefined && after === undefined && (kind === undefined || kind === 'turn')
  const all = kind === undefined ? size.turns + size.notes : size.turns
  const isSqlite = engineOf(db) === 'sqlite'
  const total = isCounted ? all : await countAll(within(refOf('created_at', isSqlite && !isOfAgent(scope))))
  const isSorted = await isFew(db, scope, query, size.turns + size.notes)
  const { column, direction } = orderOf(query.sort)
  const found = await within(refOf('created_at', isSorted))
    .orderBy(refOf(column, isSorted), direction)
    .orderBy('memories.seq', direction)
    .limit(query.limit)
    .offset(query.offset)
    .execute()
  const seqs = found.map(({ seq }) => seq)
  const memories = await findMany(db, scope, seqs)
  return { items: seqs.flatMap((seq) => memories.get(seq) ?? []), total }
}

function isOfAgent({ user_id, session_id }: MemoryScope): boolean {
  return user_id === undefined && session_id === undefined
}

/** No index begins with a session, so memories are found through the users who have a session with this ID. */
function isOfUserWithSession({ agent_seq, session_id }: MemoryScope): RawBuilder<SqlBool> {
  return sql`memories.user_id in (
    select user_id from memory_scopes where agent_seq = ${agent_seq} and level = 2 and session_id = ${session_id ?? ''})`
}

/**
 * Whether SQLite should sort the memories of a user or session, instead of searching for them among the agent's
 * memories in the order of time. PostgreSQL decides that by its own statistics.
 */
async function isFew(db: Database, scope: MemoryScope, query: PageQuery, size: number): Promise<boolean> {
  const { agent_seq, user_id, session_id } = scope
  if (engineOf(db) === 'postgres' || isOfAgent(scope)) return false
  // An index contains the memories of one session of one user in order.
  if (user_id !== undefined && session_id !== undefined) return false
  const { turns, notes } = await countMemories(db, { agent_seq })
  const passed = ((turns + notes) / Math.max(1, size)) * (query.offset + query.limit)
  return size <= passed
}

/** A sign before the column turns it into an expression, for which SQLite considers no index. */
function refOf(column: string, isUnindexed: boolean): RawBuilder<number> {
  const ref = sql.ref<number>(`memories.${column}`)
  return isUnindexed ? sql<number>`+${ref}` : ref
}
