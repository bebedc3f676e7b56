import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import { type Clauses, countHaving, fitting, tiersOf, within } from './full-text.ts'
import type { Scope } from './memory.ts'
import type { Collection, Document, Statistics } from './rank.ts'

export type Candidates = { documents: Document[]; statistics: Record<Collection, Statistics> }

/** Enough to tell how many memories there are and how long they are; reading more would only cost time. */
const SAMPLE_SIZE = 20_000

/**
 * The memories worth ranking: up to `cap` that share a term with the query. Everything comes from the scope alone,
 * statistics included: what others have remembered shows in no result and in no score.
 */
export async function findCandidates(db: Database, scope: Scope, terms: string[], cap: number): Promise<Candidates> {
  const statistics = await measure(db, scope)
  if (terms.length === 0 || statistics.turn.count + statistics.note.count === 0) return { documents: [], statistics }

  const having = new Map<string, number>()
  for (const { term, turns, notes } of await countHaving(db, scope, terms)) {
    statistics.turn.having.set(term, turns)
    statistics.note.having.set(term, notes)
    having.set(term, turns + notes)
  }
  const documents = new Map<number, Document>()
  for (const clauses of tiersOf(having, cap)) {
    const room = cap - documents.size
    if (room === 0) break
    for (const document of await listFitting(db, scope, clauses, room)) documents.set(document.seq, document)
  }
  // Sums of floats depend on their order: both engines must add alike.
  return { documents: [...documents.values()].toSorted((a, b) => a.seq - b.seq), statistics }
}

async function measure(db: Database, scope: Scope): Promise<Record<Collection, Statistics>> {
  const collection = sql<Collection>`case kind when 'turn' then 'turn' else 'note' end`
  // In the order of the index: both engines sample the same memories.
  const sample = db
    .selectFrom('memories')
    .select(['kind', 'length'])
    .where(within(scope))
    .orderBy('user_id')
    .orderBy('session_id')
    .orderBy('created_at')
    .orderBy('seq')
    .limit(SAMPLE_SIZE)
  const rows = await db
    .selectFrom(sample.as('sample'))
    .select(({ fn }) => [
      collection.as('collection'),
      fn.countAll<number>().as('count'),
      fn.sum<number>('length').as('length'),
    ])
    .groupBy(collection)
    .execute()
  const of = (name: Collection) => {
    const { count = 0, length = 0 } = rows.find((row) => row.collection === name) ?? {}
    return { count, length, having: new Map<string, number>() }
  }
  return { turn: of('turn'), note: of('note') }
}

async function listFitting(db: Database, scope: Scope, clauses: Clauses, limit: number): Promise<Document[]> {
  // A cross join, so that SQLite begins with the few that fit and not with the whole scope.
  const rows = await db
    .selectFrom(fitting(db, scope, clauses, limit).as('fit'))
    .crossJoin('memories')
    .whereRef('memories.seq', '=', 'fit.seq')
    .where(within(scope))
    .select(['memories.seq', 'memories.kind', 'memories.terms', 'memories.length'])
    .select([turnBefore(1).as('before'), turnBefore(2).as('long_before')])
    .select([turnAfter(1).as('after'), turnAfter(2).as('long_after')])
    .execute()
  const isTurn = (seq: number | null) => seq !== null
  return rows.map(({ seq, kind, terms, length, before, after, long_before, long_after }) => ({
    seq,
    collection: kind === 'turn' ? 'turn' : 'note',
    terms,
    length,
    near: [before, after].filter(isTurn),
    further: [long_before, long_after].filter(isTurn),
  }))
}

const turnBefore = (distance: number) => turnBeside(sql`<`, sql`desc`, distance)
const turnAfter = (distance: number) => turnBeside(sql`>`, sql`asc`, distance)

/** Of the same session. Without a session only the two turns of one exchange belong together: they share their time. */
function turnBeside(
  side: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
  distance: number,
): RawBuilder<number | null> {
  return sql`case when memories.kind = 'turn' then (
    select case when beside.session_id <> '' or beside.created_at = memories.created_at then beside.seq end
    from memories as beside
    where beside.agent_seq = memories.agent_seq and beside.user_id = memories.user_id
      and beside.session_id = memories.session_id and beside.kind = 'turn'
      and (beside.created_at, beside.seq) ${side} (memories.created_at, memories.seq)
    order by beside.created_at ${order}, beside.seq ${order} limit 1 offset ${sql.lit(distance - 1)}) end`
}
