import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { Invocation } from './invocation.ts'
import { withoutWords } from './steps/receipt-steps.ts'
import { fromRow } from './store.ts'

/** How many rows of the agent are searched at once. */
const WINDOW = 1_000

type InvocationCursor = { created_at: number; id: string }

export type UserWindow = { last: InvocationCursor | undefined; invocations: Invocation[] }

/**
 * Searches the agent's next invocations after a cursor. Returns the last one's cursor, and the invocations of the user.
 * There is no index of users, because it would slow down every invocation. A search is needed only when a user's data
 * is shown or erased.
 */
export async function listOfUser(
  db: Database,
  { agent_seq, user_id }: { agent_seq: number; user_id: string },
  after: InvocationCursor = { created_at: 0, id: '' },
): Promise<UserWindow> {
  const later = sql<SqlBool>`(created_at, id) > (${after.created_at}, ${after.id})`
  const places = await db
    .selectFrom('invocations')
    .select(['created_at', 'id'])
    .where('agent_seq', '=', agent_seq)
    .where(later)
    .orderBy('created_at')
    .orderBy('id')
    .limit(WINDOW)
    .execute()
  const last = places.at(-1)
  if (!last) return { last, invocations: [] }
  const through: RawBuilder<SqlBool> = sql`(created_at, id) <= (${last.created_at}, ${last.id})`
  const rows = await db
    .selectFrom('invocations')
    .selectAll()
    .where('agent_seq', '=', agent_seq)
    .where(later)
    .where(through)
    .where('user_id', '=', user_id)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return { last, invocations: rows.map(fromRow) }
}

/** Those of the requests that belong to the user and to one of the agents. */
export async function listIdsOfUser(
  db: Database,
  user_id: string,
  { agent_seqs, ids }: { agent_seqs: ReadonlySet<number>; ids: string[] },
): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('invocations')
    .select(['id', 'agent_seq'])
    .where('id', 'in', ids)
    .where('user_id', '=', user_id)
    .execute()
  return rows.filter(({ agent_seq }) => agent_seqs.has(agent_seq)).map(({ id }) => id)
}

/** Removes the texts and the user from receipts, which stay for accounting. Only for invocations that have ended. */
export async function eraseTexts(db: Database, ended: readonly Invocation[]): Promise<void> {
  for (const { id, response, error, steps } of ended) {
    await db
      .updateTable('invocations')
      .set({
        message: '',
        context: '{}',
        user_id: null,
        session_id: null,
        response: response === null ? null : '',
        error: error === null ? null : JSON.stringify({ ...error, message: '' }),
        steps: JSON.stringify(withoutWords(steps)),
      })
      .where('id', '=', id)
      .execute()
  }
}
