import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { Invocation } from './invocation.ts'
import { withoutWords } from './steps/receipt-steps.ts'
import { fromRow } from './store.ts'

/** So many rows of the agent are looked through at once. */
const WINDOW = 1_000

type InvocationCursor = { created_at: number; id: string }

export type UserWindow = { last: InvocationCursor | undefined; invocations: Invocation[] }

/**
 * Of an agent's next invocations after a place: where they end, and those of the user. No index of users: it would cost every
 * invocation, and an agent is gone through only when a user wants to see or erase what is known.
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

/** Which of these requests are the user's, with one of the agents. */
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

/** The receipts stay for accounting, without a word and without whose they were. Only of invocations that have ended. */
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
