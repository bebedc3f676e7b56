import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { fts5, indexWaiting } from '../full-text/fts5.ts'
import type { FullText, TermCount } from '../full-text/full-text.ts'
import { tsvector } from '../full-text/tsvector.ts'
import type { Window } from '../language/dates.ts'
import { countedTerms, type Question } from '../language/question.ts'
import { inMemoryScope, listed } from '../memory-filter.ts'
import { type Plan, planSearch } from '../ranking/plan.ts'
import { type PostingRow, Postings, type ScopeStatistics } from '../ranking/postings.ts'
import { tiersOf } from '../ranking/tiers.ts'
import { MENTION_MARGIN } from '../ranking/weights.ts'
import { countMemories } from '../warm/scope-counts.ts'
import { listNeighbours } from './neighbours.ts'

/** How many terms are read at once, so that long memories don't block the main thread. */
const MOST_TERMS = 50_000

/** The plan of a search, and the memories that are worth scoring. */
export type Candidates = { plan: Plan; postings: Postings }

/**
 * Finds the memories that are worth scoring: up to `cap` that share a term with the query, and the turns around them.
 * Everything comes from this scope alone, including the statistics, so other memories can't affect a result or a score.
 */
export async function findCandidates(
  db: Database,
  scope: MemoryScope,
  question: Question,
  cap: number,
): Promise<Candidates> {
  const fullText = engineOf(db) === 'postgres' ? tsvector : fts5
  await indexWaiting(db)
  const statistics = await measure(db, scope, fullText, question)
  const plan = planSearch(question, statistics)
  const having = new Map(
    plan.terms.map(({ term }) => [
      term,
      (statistics.turn.having.get(term) ?? 0) + (statistics.note.having.get(term) ?? 0),
    ]),
  )
  const found = new Map<number, PostingRow>()
  for (const clauses of tiersOf(having, cap)) {
    const room = cap - found.size
    if (room === 0) break
    for (const row of await listRows(db, scope, fullText.fitting(scope, clauses, room))) found.set(row.seq, row)
  }
  // Neighbours are searched before the turns that are found by their time are added, because those don't affect their
  // neighbours' scores.
  const turns = [...found.values()].filter(({ kind }) => kind === 'turn')
  const neighbours = (await listNeighbours(db, scope, turns)).filter((seq) => !found.has(seq))
  if (neighbours.length > 0) {
    for (const row of await listRows(db, scope, listed(db, neighbours))) found.set(row.seq, row)
  }
  if (question.window) {
    for (const row of await listRows(db, scope, saidAround(scope, question.window, cap))) found.set(row.seq, row)
  }
  const postings = new Postings(undefined, new Set(countedTerms(question)))
  for (const row of [...found.values()].toSorted((a, b) => a.seq - b.seq)) postings.append(row)
  return { plan, postings }
}

async function measure(
  db: Database,
  scope: MemoryScope,
  fullText: FullText,
  question: Question,
): Promise<ScopeStatistics> {
  const [sizes, counts, said] = await Promise.all([
    countMemories(db, scope),
    countHaving(db, scope, fullText, countedTerms(question)),
    question.window ? countSaid(db, scope, question.window) : 0,
  ])
  const having = (count: (having: TermCount) => number) => new Map(counts.map((row) => [row.term, count(row)]))
  return {
    turn: { count: sizes.turns, length: sizes.turn_terms, having: having(({ turns }) => turns) },
    note: { count: sizes.notes, length: sizes.note_terms, having: having(({ notes }) => notes) },
    said,
  }
}

async function countHaving(
  db: Database,
  scope: MemoryScope,
  fullText: FullText,
  terms: string[],
): Promise<TermCount[]> {
  if (terms.length === 0) return []
  const { rows } = await fullText.having(scope, terms).execute(db)
  return rows
}

async function countSaid(db: Database, scope: MemoryScope, { from, to }: Window): Promise<number> {
  const { count } = await db
    .selectFrom('memories')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(inMemoryScope(scope))
    .where('created_at', '>=', from)
    .where('created_at', '<', to)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * The newest memories from that time. If there is room, also some from shortly before and after, which may mention it.
 */
function saidAround(scope: MemoryScope, { from, to }: Window, limit: number): RawBuilder<{ seq: number }> {
  return sql`(
    select seq from memories
    where ${inMemoryScope(scope)} and created_at >= ${from - MENTION_MARGIN} and created_at < ${to + MENTION_MARGIN}
    order by case when created_at >= ${from} and created_at < ${to} then 0 else 1 end, seq desc limit ${limit})`
}

/** The given memories, newest first, until they have MOST_TERMS terms. */
async function listRows(db: Database, scope: MemoryScope, given: RawBuilder<{ seq: number }>): Promise<PostingRow[]> {
  // A cross join makes SQLite start with the few given memories instead of the whole scope.
  const rows = db
    .selectFrom(given.as('given'))
    .crossJoin('memories')
    .whereRef('memories.seq', '=', 'given.seq')
    .where(inMemoryScope(scope))
    .select(['memories.seq', 'memories.kind', 'memories.role', 'memories.user_id', 'memories.session_id'])
    .select(['memories.created_at', 'memories.terms', 'memories.length'])
    .select(sql<number>`sum(memories.length) over (order by memories.seq desc)`.as('terms_so_far'))
  return db
    .selectFrom(rows.as('counted'))
    .select(['seq', 'kind', 'role', 'user_id', 'session_id', 'created_at', 'terms', 'length'])
    .where(sql<SqlBool>`terms_so_far - length < ${MOST_TERMS}`)
    .execute()
}
