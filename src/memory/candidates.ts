import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import { countHaving, fitting, listed, tiersOf, within } from './full-text.ts'
import type { Scope } from './memory.ts'
import type { Collection, Document, Statistics } from './rank.ts'

export type Documents = Map<number, Document>

export type Candidates = { documents: Documents; statistics: Record<Collection, Statistics> }

/** Enough to tell how many memories there are and how long they are; reading more would only cost time. */
const SAMPLE_SIZE = 20_000

/**
 * The memories worth ranking: up to `cap` that share a term with the query, and the turns beside them. Everything comes
 * from the scope alone, statistics included: what others have remembered shows in no result and in no score.
 */
export async function findCandidates(db: Database, scope: Scope, terms: string[], cap: number): Promise<Candidates> {
  const documents: Documents = new Map()
  const statistics = await measure(db, scope)
  if (terms.length === 0 || statistics.turn.count + statistics.note.count === 0) return { documents, statistics }

  for (const { term, turns, notes } of await countHaving(db, scope, terms)) {
    statistics.turn.having.set(term, turns)
    statistics.note.having.set(term, notes)
  }
  const having = new Map(
    terms.map((term) => [term, (statistics.turn.having.get(term) ?? 0) + (statistics.note.having.get(term) ?? 0)]),
  )
  for (const clauses of tiersOf(having, cap)) {
    const room = cap - documents.size
    if (room > 0) await addDocuments(db, scope, documents, fitting(db, scope, clauses, room))
  }
  // As far as a turn reaches in the ranking.
  for (let distance = 0; distance < 2; distance++) await addListed(db, scope, documents, neighboursOf(documents))
  return { documents, statistics }
}

/** Adds those of the memories that are in the scope. */
export async function addListed(db: Database, scope: Scope, documents: Documents, seqs: number[]): Promise<void> {
  const missing = [...new Set(seqs)].filter((seq) => !documents.has(seq))
  if (missing.length > 0) await addDocuments(db, scope, documents, listed(db, missing))
}

function neighboursOf(documents: Documents): number[] {
  return [...documents.values()].flatMap(({ before, after }) => [before, after]).filter((seq) => seq !== null)
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

async function addDocuments(
  db: Database,
  scope: Scope,
  documents: Documents,
  seqs: RawBuilder<{ seq: number }>,
): Promise<void> {
  // A cross join, so that SQLite begins with the few it is given and not with the whole scope.
  const rows = await db
    .selectFrom(seqs.as('given'))
    .crossJoin('memories')
    .whereRef('memories.seq', '=', 'given.seq')
    .where(within(scope))
    .select(['memories.seq', 'memories.kind', 'memories.terms', 'memories.length', 'memories.created_at'])
    .select([neighbour('<', 'desc').as('before'), neighbour('>', 'asc').as('after')])
    .execute()
  for (const { kind, ...row } of rows) {
    documents.set(row.seq, { ...row, collection: kind === 'turn' ? 'turn' : 'note' })
  }
}

/** The turn next to a turn. Without a session only the two turns of one exchange belong together: they share their time. */
function neighbour(side: '<' | '>', direction: 'asc' | 'desc'): RawBuilder<number | null> {
  return sql`case when memories.kind = 'turn' then (
    select case when near.session_id <> '' or near.created_at = memories.created_at then near.seq end
    from memories as near
    where near.agent_seq = memories.agent_seq and near.user_id = memories.user_id
      and near.session_id = memories.session_id and near.kind = 'turn'
      and (near.created_at, near.seq) ${sql.raw(side)} (memories.created_at, memories.seq)
    order by near.created_at ${sql.raw(direction)}, near.seq ${sql.raw(direction)} limit 1) end`
}
