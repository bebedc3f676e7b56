import { sql } from 'kysely'
import { type Database, engineOf } from '../storage/database.ts'
import { fts5 } from './full-text/fts5.ts'
import type { FullText, Having } from './full-text/full-text.ts'
import { tsvector } from './full-text/tsvector.ts'
import type { Scope } from './memory.ts'
import { countedTerms, type Plan, planSearch } from './ranking/plan.ts'
import { type Collection, Postings, type Row, type ScopeStatistics } from './ranking/postings.ts'
import { tiersOf } from './ranking/tiers.ts'
import { REACH } from './ranking/weights.ts'
import { listed, within } from './within.ts'

/** What is looked for, and the memories worth scoring. */
export type Candidates = { plan: Plan; postings: Postings }

/** Enough to tell how many memories there are and how long they are; reading more would only cost time. */
const SAMPLE_SIZE = 20_000
/** So many turns around the candidates are read at most, to know which are their neighbours. */
const READ_TURNS = 20_000

/**
 * The memories worth scoring: up to `cap` that share a term with the query, and the turns around them. Everything comes
 * from the scope alone, statistics included: what others have remembered shows in no result and in no score.
 */
export async function findCandidates(db: Database, scope: Scope, terms: string[], cap: number): Promise<Candidates> {
  const fullText = engineOf(db) === 'postgres' ? tsvector : fts5
  const statistics = await measure(db, scope, fullText, countedTerms(terms))
  const plan = planSearch(terms, statistics)
  const having = new Map(
    plan.terms.map(({ term }) => [
      term,
      (statistics.turn.having.get(term) ?? 0) + (statistics.note.having.get(term) ?? 0),
    ]),
  )
  const seqs = new Set<number>()
  for (const clauses of tiersOf(having, cap)) {
    const room = cap - seqs.size
    if (room === 0) break
    const rows = await db
      .selectFrom(fullText.fitting(scope, clauses, room).as('fit'))
      .select('fit.seq')
      .execute()
    for (const { seq } of rows) seqs.add(seq)
  }
  const postings = new Postings()
  for (const row of await listWithNeighbours(db, scope, [...seqs])) postings.append(row)
  return { plan, postings }
}

async function measure(db: Database, scope: Scope, fullText: FullText, terms: string[]): Promise<ScopeStatistics> {
  const [sizes, counts] = await Promise.all([
    measureSample(db, scope),
    terms.length === 0
      ? []
      : fullText
          .having(scope, terms)
          .execute(db)
          .then(({ rows }) => rows),
  ])
  const of = (collection: Collection, count: (having: Having) => number) => {
    const { count: sampled = 0, length = 0 } = sizes.find((size) => size.collection === collection) ?? {}
    return { count: sampled, length, having: new Map(counts.map((having) => [having.term, count(having)])) }
  }
  return { turn: of('turn', ({ turns }) => turns), note: of('note', ({ notes }) => notes) }
}

async function measureSample(db: Database, scope: Scope) {
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
  return db
    .selectFrom(sample.as('sample'))
    .select(({ fn }) => [
      collection.as('collection'),
      fn.countAll<number>().as('count'),
      fn.sum<number>('length').as('length'),
    ])
    .groupBy(collection)
    .execute()
}

const END_OF_TIME = Number.MAX_SAFE_INTEGER

/**
 * The given memories and the turns within reach of them, in the order of `seq`. The sessions of the given turns are read
 * through, each once. Without a session only an exchange belongs together: its turns share their time.
 */
async function listWithNeighbours(db: Database, scope: Scope, seqs: number[]): Promise<Row[]> {
  if (seqs.length === 0) return []
  const given = listed(db, seqs)
  const { rows } = await sql<Row>`
    with given as ${given},
    touched as (
      select distinct memories.user_id, memories.session_id,
        case memories.session_id when '' then created_at else 0 end as first_time,
        case memories.session_id when '' then created_at else ${sql.lit(END_OF_TIME)} end as last_time
      from given cross join memories
      where memories.seq = given.seq and memories.kind = 'turn' and ${within(scope)}),
    around as (
      select memories.seq, memories.user_id, memories.session_id, memories.created_at, touched.first_time
      from touched cross join memories
      where ${within(scope)} and memories.user_id = touched.user_id and memories.session_id = touched.session_id
        and memories.created_at between touched.first_time and touched.last_time and memories.kind = 'turn'
      order by memories.user_id, memories.session_id, memories.created_at, memories.seq
      limit ${READ_TURNS}),
    counted as (
      select around.seq, count(given.seq) over (
        partition by user_id, session_id, first_time order by created_at, around.seq
        rows between ${sql.lit(REACH)} preceding and ${sql.lit(REACH)} following) as candidates
      from around left join given on given.seq = around.seq),
    wanted as (select seq from counted where candidates > 0 union select seq from given)
    select memories.seq, kind, role, user_id, session_id, created_at, terms, length
    from wanted cross join memories
    where memories.seq = wanted.seq and ${within(scope)}
    order by memories.seq`.execute(db)
  return rows
}
