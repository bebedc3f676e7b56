import { sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { bulkTable } from '../../storage/journal/bulk-table.ts'
import type { Row } from '../../storage/journal/rows.ts'
import { listed } from '../memory-filter.ts'

/** The levels: an agent, one of its users, and one session of a user. */
const LEVELS = [0, 1, 2] as const
type Level = (typeof LEVELS)[number]

/**
 * How many memories each scope has, and how many terms they have. The counts change with every write and removal.
 * `generation` gets a new value with every removal and change, because memories that were read before may be outdated.
 */
export const SCOPE_COUNTS = bulkTable('memory_scopes', {
  without: ['facts_through', 'facts_after', 'summary_after'],
  merge: { add: ['turns', 'notes', 'turn_terms', 'note_terms'], max: ['last_at'] },
})

/** New memories of one session: the ID of the first, how many there are, and how many terms they have. */
type MemoryIncrement = {
  id: string
  agent_seq: number
  user_id: string
  session_id: string
  turns: number
  notes: number
  turn_terms: number
  note_terms: number
  created_at: number
}

/** What new memories add to the counts, as one row per level. The first memory of a scope determines its generation. */
export function countRows({
  id: generation,
  user_id,
  session_id,
  created_at: last_at,
  ...sums
}: MemoryIncrement): Row[] {
  const added = { ...sums, generation, last_at }
  return [
    { ...added, level: 0, user_id: '', session_id: '' },
    { ...added, level: 1, user_id, session_id: '' },
    { ...added, level: 2, user_id, session_id },
  ]
}

/** A scope for which memories are counted. */
export type CountedScope = MemoryScope & { level: Level }

/** Undefined for a session without a user, because sessions are counted per user. */
export function countedScope(scope: MemoryScope): CountedScope | undefined {
  const { user_id, session_id } = scope
  if (user_id === undefined) return session_id === undefined ? { ...scope, level: 0 } : undefined
  return { ...scope, level: session_id === undefined ? 1 : 2 }
}

/** How many memories the scope has, and how many terms they have in total. */
export async function countMemories(db: Database, scope: MemoryScope) {
  const { level, user_id = null, session_id = null } = countedScope(scope) ?? { ...scope, level: 2 }
  let select = db.selectFrom('memory_scopes').where('agent_seq', '=', scope.agent_seq).where('level', '=', level)
  if (scope.user_id !== undefined) select = select.where('user_id', '=', user_id ?? '')
  if (scope.session_id !== undefined) select = select.where('session_id', '=', session_id ?? '')
  const sums = await select
    .select(({ fn }) => [
      fn.sum<number | null>('turns').as('turns'),
      fn.sum<number | null>('notes').as('notes'),
      fn.sum<number | null>('turn_terms').as('turn_terms'),
      fn.sum<number | null>('note_terms').as('note_terms'),
    ])
    .executeTakeFirst()
  const { turns, notes, turn_terms, note_terms } = sums ?? {}
  return { turns: turns ?? 0, notes: notes ?? 0, turn_terms: turn_terms ?? 0, note_terms: note_terms ?? 0 }
}

/**
 * Makes other transactions that remove or change memories of these agents wait until this one ends, so that nothing is
 * subtracted twice. Readers don't wait, and neither do writers of new memories.
 */
export async function lockCounts(db: Database, seqs: number[]): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await sql`select 1 from memory_scopes where level = 0 and agent_seq in (
      select agent_seq from ${listed(db, seqs)} as given cross join memories where memories.seq = given.seq)
    order by agent_seq for update`.execute(db)
}

/**
 * Subtracts memories from the counts. Call this in the transaction that removes or changes these memories, after
 * `lockCounts` and before the change. The scopes must never have had this `generation`; a removal makes its own.
 */
export async function subtractCounts(db: Database, seqs: number[], generation?: string): Promise<void> {
  const named = generation === undefined ? sql`'-' || max(id)` : sql`cast(${generation} as text)`
  for (const level of LEVELS) {
    const { user, session, group } = keyOf(level)
    await sql`
      update memory_scopes set
        turns = memory_scopes.turns - gone.turns, notes = memory_scopes.notes - gone.notes,
        turn_terms = memory_scopes.turn_terms - gone.turn_terms, note_terms = memory_scopes.note_terms - gone.note_terms,
        generation = gone.generation
      from (
        select agent_seq, ${user} as user_id, ${session} as session_id, ${named} as generation, ${SUMS}
        from ${listed(db, seqs)} as given cross join memories
        where memories.seq = given.seq group by ${group}) as gone
      where memory_scopes.agent_seq = gone.agent_seq and memory_scopes.level = ${level}
        and memory_scopes.user_id = gone.user_id and memory_scopes.session_id = gone.session_id`.execute(db)
    // A user without memories must leave no row behind.
    await sql`
      delete from memory_scopes where level = ${level} and turns = 0 and notes = 0
        and (agent_seq, user_id, session_id) in (
          select agent_seq, ${user}, ${session} from ${listed(db, seqs)} as given cross join memories
          where memories.seq = given.seq)`.execute(db)
  }
}

/** Counts everything again, in a transaction. `generation` must never have been used before. */
export async function recount(db: Database, generation: string): Promise<void> {
  await db.updateTable('memory_scopes').set({ generation, turns: 0, notes: 0, turn_terms: 0, note_terms: 0 }).execute()
  for (const level of LEVELS) {
    const { user, session, group } = keyOf(level)
    await sql`
      insert into memory_scopes
        (agent_seq, level, user_id, session_id, generation, last_at, turns, notes, turn_terms, note_terms)
      select agent_seq, ${sql.lit(level)}, ${user}, ${session}, cast(${generation} as text), max(created_at), ${SUMS}
      from memories where true group by ${group}
      on conflict (agent_seq, level, user_id, session_id) do update set last_at = excluded.last_at,
        turns = excluded.turns, notes = excluded.notes,
        turn_terms = excluded.turn_terms, note_terms = excluded.note_terms`.execute(db)
  }
  await db.deleteFrom('memory_scopes').where('turns', '=', 0).where('notes', '=', 0).execute()
}

const SUMS = sql`
  sum(case kind when 'turn' then 1 else 0 end) as turns,
  sum(case kind when 'turn' then 0 else 1 end) as notes,
  sum(case kind when 'turn' then length else 0 end) as turn_terms,
  sum(case kind when 'turn' then 0 else length end) as note_terms`

function keyOf(level: Level) {
  const [user, session] = [sql.ref('user_id'), sql.ref('session_id')]
  const none = sql`''`
  if (level === 0) return { user: none, session: none, group: sql.ref('agent_seq') }
  if (level === 1) return { user, session: none, group: sql`agent_seq, user_id` }
  return { user, session, group: sql`agent_seq, user_id, session_id` }
}
