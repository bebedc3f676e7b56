import { type RawBuilder, sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { inMemoryScope } from '../memory-filter.ts'
import type { PostingRow } from '../ranking/postings.ts'
import { REACH } from '../ranking/weights.ts'

/** How many of a session's newest turns are searched for neighbours. */
const READ_TURNS = 5000

/** A part of a conversation in which turns can be neighbours. */
type Stretch = { user_id: string; session_id: string; first_time: number; last_time: number }

/** The given turns and the turns close to them. Each session is read once, all in one query. */
export async function listNeighbours(db: Database, scope: MemoryScope, turns: PostingRow[]): Promise<number[]> {
  if (turns.length === 0) return []
  const stretches = new Map(turns.map((turn) => [JSON.stringify(stretchOf(turn)), stretchOf(turn)]))
  // One subquery for each stretch, so no query planner can choose to read all memories instead.
  const { rows } = await sql<{ seqs: string | null }>`
    select (
      select ${sql.raw(engineOf(db) === 'postgres' ? 'string_agg(seq::text' : 'group_concat(seq')}, ',' order by created_at, seq)
      from (
        select memories.created_at, memories.seq
        from memories
        where ${inMemoryScope(scope)} and memories.user_id = touched.user_id and memories.session_id = touched.session_id
          and memories.created_at between touched.first_time and touched.last_time and memories.kind = 'turn'
        order by memories.created_at desc, memories.seq desc limit ${READ_TURNS}) as turns) as seqs
    from ${tableOf(db, [...stretches.values()])}`.execute(db)

  const given = new Set(turns.map(({ seq }) => seq))
  return rows.flatMap(({ seqs }) => {
    const session = (seqs ?? '').split(',').map(Number)
    return session.filter((_, i) => session.slice(Math.max(0, i - REACH), i + REACH + 1).some((seq) => given.has(seq)))
  })
}

/**
 * Turns of the same session belong together. Without a session, only a message and its answer do, because they have the
 * same time.
 */
function stretchOf({ user_id, session_id, created_at }: PostingRow): Stretch {
  const alone = session_id === ''
  return {
    user_id,
    session_id,
    first_time: alone ? created_at : 0,
    last_time: alone ? created_at : Number.MAX_SAFE_INTEGER,
  }
}

function tableOf(db: Database, stretches: Stretch[]): RawBuilder<unknown> {
  const json = JSON.stringify(stretches)
  return engineOf(db) === 'postgres'
    ? sql`jsonb_to_recordset(${json}::jsonb) as touched(user_id text, session_id text, first_time bigint, last_time bigint)`
    : sql`(select value ->> 'user_id' as user_id, value ->> 'session_id' as session_id,
        value ->> 'first_time' as first_time, value ->> 'last_time' as last_time
        from json_each(${json})) as touched`
}
