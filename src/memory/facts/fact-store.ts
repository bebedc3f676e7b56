import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import type { Memory } from '../memory.ts'
import { scopeOfRun } from '../memory-filter.ts'
import { findMemories } from '../search/find-memories.ts'
import * as memories from '../store.ts'
import type { ExtractedFact } from './fact-prompt.ts'

/** A conversation with a user or without one. A missing user or session is an empty text. */
export type Session = { agent_seq: number; user_id: string; session_id: string; facts_through: number }

type Due = {
  /**
   * Sessions with no turn after this time are left out. They were processed already, or their turns came from
   * elsewhere.
   */
  since: number
  /** Sessions with no turn after this time are due. */
  idle: number
  /** Sessions with at least this number of new turns are due even while the conversation continues. */
  turns: number
  now: number
  limit: number
}

/** Conversations with turns that were not searched for facts yet. Those that failed before come last. */
export async function listDue(
  db: Database,
  agent_seq: number,
  { since, idle, turns, now, limit }: Due,
): Promise<Session[]> {
  const fresh = sql`select 1 from memories where memories.agent_seq = memory_scopes.agent_seq
    and memories.user_id = memory_scopes.user_id and memories.session_id = memory_scopes.session_id
    and memories.kind = 'turn' and memories.seq > memory_scopes.facts_through`
  return db
    .selectFrom('memory_scopes')
    .select(['agent_seq', 'user_id', 'session_id', 'facts_through'])
    .where('agent_seq', '=', agent_seq)
    .where('level', '=', 2)
    .where('last_at', '>=', since)
    .where('turns', '>', 0)
    .where('facts_after', '<=', now)
    .where(sql<boolean>`(user_id <> '' or session_id <> '')`)
    .where(
      sql<boolean>`case when last_at <= ${idle} then exists (${fresh})
        else (select count(*) from (${fresh} limit ${sql.lit(turns)}) as fresh) >= ${turns} end`,
    )
    .orderBy('facts_after')
    .orderBy('last_at')
    .limit(limit)
    .execute()
}

const scopeOf = ({ agent_seq, user_id, session_id }: Session) => ({
  agent_seq,
  user_id: user_id === '' ? null : user_id,
  session_id: session_id === '' ? null : session_id,
})

/** The turns among the next memories, oldest first, and the last seq of all of these memories. */
export async function listNewTurns(db: Database, session: Session, limit: number) {
  const next = await memories.listAfter(db, scopeOf(session), session.facts_through, limit)
  const turns = next.flatMap(({ memory }) => (memory.kind === 'turn' ? memory : []))
  return { turns, through: next.at(-1)?.seq ?? session.facts_through }
}

/** The user's newest facts that are not superseded. Without a user, only the session's. */
export async function listKnown(db: Database, session: Session, limit: number): Promise<Memory[]> {
  const scope = scopeOfRun(scopeOf(session))
  if (!scope) return []
  const query = { limit, offset: 0, sort: '-created_at' }
  const { items } = await findMemories(db, scope, query, { kind: 'fact' })
  return items.filter(({ superseded_by }) => superseded_by === null)
}

/** A value that changes when the user's memories are removed or changed. Without a user, it covers only the session. */
export async function generationOf(db: Database, { agent_seq, user_id, session_id }: Session) {
  const hasUser = user_id !== ''
  const scope = await db
    .selectFrom('memory_scopes')
    .select('generation')
    .where('agent_seq', '=', agent_seq)
    .where('level', '=', hasUser ? 1 : 2)
    .where('user_id', '=', user_id)
    .where('session_id', '=', hasUser ? '' : session_id)
    .executeTakeFirst()
  return scope?.generation
}

/** Memories that the model was shown have been removed or changed in the meantime. */
export class OutdatedFactsError extends Error {}

type Extraction = {
  facts: ExtractedFact[]
  /** The turns in which the facts were found. */
  turns: readonly Memory[]
  through: number
  /** The generation of the memories that the model was shown. */
  generation: string | undefined
  model: string
  time: number
  newId(): string
}

/**
 * Stores the facts, marks the facts that they supersede, and records the progress in the session, all together.
 * Something that was removed while the model was reading must not come back as a fact. In that case this throws, and
 * the transaction writes nothing.
 */
export async function writeFacts(db: Database, session: Session, written: Extraction) {
  const { facts, turns, through, generation, model, time, newId } = written
  const scope = scopeOf(session)
  const items = facts.map(({ content, sources }) => ({
    ...scope,
    id: newId(),
    kind: 'fact' as const,
    role: null,
    content,
    created_at: time,
    metadata: { source: sources, extracted_by: model },
    ...writtenBy(turns.findLast(({ id }) => sources.includes(id))),
  }))
  if (items.length > 0) {
    await memories.insert(
      db,
      session.agent_seq,
      items.map(({ agent_seq: _seq, ...item }) => item),
    )
    // Inserting the facts has locked the counts, so no request can remove memories before the transaction ends.
    if ((await generationOf(db, session)) !== generation) throw new OutdatedFactsError()
  }
  for (const [i, { supersedes }] of facts.entries()) {
    const superseded_by = items[i]?.id as string
    for (const id of supersedes) await supersede(db, session.agent_seq, { id, superseded_by })
  }
  await db
    .updateTable('memory_scopes')
    .set({ facts_through: through })
    .where('agent_seq', '=', session.agent_seq)
    .where('level', '=', 2)
    .where('user_id', '=', session.user_id)
    .where('session_id', '=', session.session_id)
    .execute()
}

const writtenBy = ({ version, deployment_id }: Partial<Memory> = {}) => ({ version, deployment_id })

/** Makes facts current again that were superseded by the given facts, which have been removed. */
export async function restoreSuperseded(db: Database, agent_seq: number, gone: readonly string[]): Promise<void> {
  if (gone.length === 0) return
  const replaced = await db
    .selectFrom('memories')
    .select(['id', 'superseded_by'])
    .where('agent_seq', '=', agent_seq)
    .where('superseded_by', 'in', gone)
    .orderBy('seq')
    .execute()
  for (const { id, superseded_by } of replaced) {
    const { seq, memory } = await memories.lock(db, { agent_seq }, id)
    const current = { seq, memory: { ...memory, superseded_by: null } }
    await memories.update(db, agent_seq, current, `~${id} without ${superseded_by}`)
  }
}

/** Marks a fact as superseded. A fact that was deleted in the meantime stays deleted. */
async function supersede(
  db: Database,
  agent_seq: number,
  { id, superseded_by }: { id: string; superseded_by: string },
) {
  const [known] = await memories.listIdsOfAgents(db, new Set([agent_seq]), [id])
  if (known === undefined) return
  const { seq, memory } = await memories.lock(db, { agent_seq }, id)
  await memories.update(db, agent_seq, { seq, memory: { ...memory, superseded_by } }, `~${id} ${superseded_by}`)
}
