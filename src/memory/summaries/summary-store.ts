import { sql } from 'kysely'
import { notFound } from '../../errors.ts'
import type { Conversation } from '../../operation/recall.ts'
import { readable } from '../../storage/damaged-rows.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'
import { inMemoryScope } from '../memory-filter.ts'
import { fromRow as memoryOf, SHOWN as SHOWN_MEMORY } from '../memory-rows.ts'
import type { MemoryRecord } from '../store.ts'
import type { SessionSummary } from './summary.ts'

const SHOWN = ['user_id', 'session_id', 'content', 'turns', 'model', 'tokens_used', 'updated_at'] as const

type SummaryRow = Pick<Tables['memory_summaries'], (typeof SHOWN)[number]>

const fromRow = (row: SummaryRow): SessionSummary => ({ ...row, user_id: row.user_id === '' ? null : row.user_id })

/** The key of a session in the tables about sessions. */
function keyOf({ agent_seq, user_id, session_id }: Conversation) {
  return { agent_seq, user_id: user_id ?? '', session_id: session_id ?? '' }
}

export async function findSummary(db: Database, session: Conversation): Promise<SessionSummary | undefined> {
  const { agent_seq, user_id, session_id } = keyOf(session)
  const row = await db
    .selectFrom('memory_summaries')
    .select(SHOWN)
    .where('agent_seq', '=', agent_seq)
    .where('user_id', '=', user_id)
    .where('session_id', '=', session_id)
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function listSummaries(
  db: Database,
  { agent_seq, user_id }: { agent_seq: number; user_id: string },
): Promise<SessionSummary[]> {
  const rows = await db
    .selectFrom('memory_summaries')
    .select(SHOWN)
    .where('agent_seq', '=', agent_seq)
    .where('user_id', '=', user_id)
    .orderBy('session_id')
    .execute()
  return rows.map(fromRow)
}

/** A session with new turns, and its summary so far. */
export type DueSession = Conversation & {
  /** A value that changes when memories of the session are removed or changed. */
  generation: string
  /** How many turns the session has. */
  said: number
  content: string | null
  turns: number
  through_seq: number
  tokens_used: number
}

type Due = { turns: number; since: number; now: number; limit: number }

/** Sessions with at least this many turns that their summary doesn't cover. Those that failed before come last. */
export async function listDueSessions(
  db: Database,
  agent_seq: number,
  { turns, since, now, limit }: Due,
): Promise<DueSession[]> {
  const rows = await db
    .selectFrom('memory_scopes as scope')
    .leftJoin('memory_summaries as summary', (join) =>
      join
        .onRef('summary.agent_seq', '=', 'scope.agent_seq')
        .onRef('summary.user_id', '=', 'scope.user_id')
        .onRef('summary.session_id', '=', 'scope.session_id'),
    )
    .select(['scope.agent_seq', 'scope.user_id', 'scope.session_id', 'scope.generation', 'scope.turns as said'])
    .select(['summary.content', 'summary.turns', 'summary.through_seq', 'summary.tokens_used'])
    .where('scope.agent_seq', '=', agent_seq)
    .where('scope.level', '=', 2)
    .where('scope.session_id', '!=', '')
    .where('scope.last_at', '>=', since)
    .where('scope.summary_after', '<=', now)
    .where(sql<boolean>`scope.turns - coalesce(summary.turns, 0) >= ${turns}`)
    .orderBy('scope.summary_after')
    .orderBy('scope.last_at')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    ...row,
    user_id: row.user_id === '' ? null : row.user_id,
    turns: row.turns ?? 0,
    through_seq: row.through_seq ?? 0,
    tokens_used: row.tokens_used ?? 0,
  }))
}

/**
 * Returns the session as it is now, or undefined if it has no memories. Until the transaction ends, no memory of the
 * session can be changed or removed.
 */
export async function lockSession(db: Database, session: Conversation) {
  const { agent_seq, user_id, session_id } = keyOf(session)
  const select = db
    .selectFrom('memory_scopes')
    .select(['generation', 'turns'])
    .where('agent_seq', '=', agent_seq)
    .where('level', '=', 2)
    .where('user_id', '=', user_id)
    .where('session_id', '=', session_id)
  return (engineOf(db) === 'postgres' ? select.forUpdate() : select).executeTakeFirst()
}

/** The next turns that the summary does not cover, in the order in which they were written. */
export async function listTurnsAfter(db: Database, session: DueSession, limit: number): Promise<MemoryRecord[]> {
  const rows = await db
    .selectFrom('memories')
    .select(['memories.seq', ...SHOWN_MEMORY])
    .where(inMemoryScope(session))
    .where('kind', '=', 'turn')
    .where('seq', '>', session.through_seq)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return readable(db, rows, (row) => ({ seq: row.seq, memory: memoryOf(row) }))
}

/** The seq of the newest memory of the session, or 0. */
export async function lastSeqOf(db: Database, session: Conversation): Promise<number> {
  const newest = await db
    .selectFrom('memories')
    .select(({ fn }) => fn.max('seq').as('seq'))
    .where(inMemoryScope(session))
    .executeTakeFirst()
  return newest?.seq ?? 0
}

type SummaryFields = Omit<Tables['memory_summaries'], 'agent_seq' | 'user_id' | 'session_id'>

/** Stores a summary. Call this after `lockSession`. */
export async function putSummary(db: Database, session: Conversation, written: SummaryFields): Promise<void> {
  await db
    .insertInto('memory_summaries')
    .values({ ...keyOf(session), ...written })
    .onConflict((conflict) => conflict.columns(['agent_seq', 'user_id', 'session_id']).doUpdateSet(written))
    .execute()
}

export async function removeSummary(db: Database, session: Conversation): Promise<void> {
  const { agent_seq, user_id, session_id } = keyOf(session)
  const { numDeletedRows } = await db
    .deleteFrom('memory_summaries')
    .where('agent_seq', '=', agent_seq)
    .where('user_id', '=', user_id)
    .where('session_id', '=', session_id)
    .executeTakeFirst()
  if (Number(numDeletedRows) === 0) throw notFound('Summary of the session', session_id)
}
