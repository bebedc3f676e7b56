import { type SqlBool, sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import type { Database } from '../../storage/database.ts'
import { type Page, type PageQuery, page } from '../../storage/queries/page.ts'

// The same condition, in the same words, as that of the index that contains the scopes in the order of their use.
const IN_ORDER = sql<SqlBool>`level > 0`

type Counts = { turns: number; notes: number; last_used_at: number }

/** The users an agent has memories of. */
export async function listUsers(
  db: Database,
  scope: MemoryScope,
  query: PageQuery,
): Promise<Page<Counts & { user_id: string }>> {
  let select = db
    .selectFrom('memory_scopes')
    .select(['user_id', 'turns', 'notes', 'last_at as last_used_at'])
    .where('agent_seq', '=', scope.agent_seq)
    .where('level', '=', 1)
    .where(IN_ORDER)
    .where('user_id', '!=', '')
  if (scope.user_id !== undefined) select = select.where('user_id', '=', scope.user_id ?? '')
  return page(db, select, query, { tieBreakers: ['user_id'] })
}

type RememberedSession = Counts & { session_id: string; user_id: string | null }

/** The conversations an agent has memories of. */
export async function listSessions(
  db: Database,
  scope: MemoryScope,
  query: PageQuery,
): Promise<Page<RememberedSession>> {
  let select = db
    .selectFrom('memory_scopes')
    .select(['session_id', 'user_id', 'turns', 'notes', 'last_at as last_used_at'])
    .where('agent_seq', '=', scope.agent_seq)
    .where('level', '=', 2)
    .where(IN_ORDER)
    .where('session_id', '!=', '')
  if (scope.user_id !== undefined) select = select.where('user_id', '=', scope.user_id ?? '')
  const { items, total } = await page(db, select, query, { tieBreakers: ['user_id', 'session_id'] })
  return { items: items.map((row) => ({ ...row, user_id: row.user_id === '' ? null : row.user_id })), total }
}
