import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, type Engine, engineOf } from '../storage/database.ts'
import type { Scope } from './memory.ts'
import type { Collection } from './rank.ts'

/** Any of these, where each is all of those. */
export type Clauses = string[][]

const PAIRED_TERMS = 8

/**
 * What to ask the index for, in this order, until `cap` memories are found. Rare terms decide the top of a ranking, so
 * they are asked for first and completely; memories that have only common terms come in as far as there is room, those
 * with two of them before those with one.
 */
export function tiersOf(having: ReadonlyMap<string, number>, cap: number): Clauses[] {
  const byRarity = [...having].filter(([, n]) => n > 0).toSorted(([a, n], [b, m]) => n - m || (a < b ? -1 : 1))
  const rare: string[] = []
  let room = cap
  for (const [term, n] of byRarity) {
    room -= n
    if (room < 0) break
    rare.push(term)
  }
  const common = byRarity.slice(rare.length).map(([term]) => term)
  const paired = common.slice(0, PAIRED_TERMS)
  const pairs = paired.flatMap((term, i) => paired.slice(i + 1).map((other) => [term, other]))
  return [rare.map((term) => [term]), pairs, common.slice(0, 1).map((term) => [term])].filter(
    (clauses) => clauses.length > 0,
  )
}

/** Every query of memory carries this: what is outside the scope is never read. */
export function within({ agent_seq, user_id, session_id }: Scope): RawBuilder<SqlBool> {
  const conditions = [sql`memories.agent_seq = ${agent_seq}`]
  if (user_id !== undefined) conditions.push(sql`memories.user_id = ${user_id ?? ''}`)
  if (session_id !== undefined) conditions.push(sql`memories.session_id = ${session_id ?? ''}`)
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

/** In how many memories of the scope each term is. */
export async function countHaving(db: Database, scope: Scope, terms: string[]): Promise<Having[]> {
  const count = engineOf(db) === 'postgres' ? countInVectors(scope, terms) : countInIndex(scope, terms)
  const { rows } = await count.execute(db)
  return rows
}

/** The given memories as a table with a column `seq`. */
export function listed(db: Database, seqs: number[]): RawBuilder<{ seq: number }> {
  return engineOf(db) === 'postgres'
    ? sql`(select unnest(${seqs}::bigint[]) as seq)`
    : sql`(select value as seq from json_each(${JSON.stringify(seqs)}))`
}

/** The newest memories of the scope that fit, as a table with a column `seq`. */
export function fitting(db: Database, scope: Scope, clauses: Clauses, limit: number): RawBuilder<{ seq: number }> {
  if (engineOf(db) === 'postgres') {
    const query = toQuery(clauses, ' & ', ' | ', (term) => `'${term}'`)
    return sql`(select seq from memories where ${within(scope)} and lexemes @@ ${query}::tsquery
      order by seq desc limit ${limit})`
  }
  const query = toQuery(clauses, ' AND ', ' OR ', (term) => `"${term}"`)
  const anywhere = `(${inScope('turn', scope)} OR ${inScope('note', scope)})`
  return sql`(select rowid as seq from memory_index where memory_index match ${`${anywhere} AND (${query})`}
    order by rowid desc limit ${limit})`
}

type Having = { term: string; turns: number; notes: number }

function countInVectors(scope: Scope, terms: string[]): RawBuilder<Having> {
  return sql`select term, turns, notes from unnest(${terms}::text[]) as term cross join lateral (
    select count(*) filter (where kind = 'turn') as turns, count(*) filter (where kind <> 'turn') as notes
    from memories where ${within(scope)} and lexemes @@ quote_literal(term)::tsquery) as counted`
}

function countInIndex(scope: Scope, terms: string[]): RawBuilder<Having> {
  const count = (collection: Collection) =>
    sql`(select count(*) from memory_index
      where memory_index match '"' || value || '" AND ' || ${inScope(collection, scope)})`
  return sql`select value as term, ${count('turn')} as turns, ${count('note')} as notes
    from json_each(${JSON.stringify(terms)})`
}

/** Terms are letters and digits: nothing in them needs escaping, and in quotes none is an operator. */
function toQuery(clauses: Clauses, and: string, or: string, quote: (term: string) => string): string {
  return clauses.map((terms) => `(${terms.map(quote).join(and)})`).join(or)
}

/**
 * FTS5 knows no columns but its own, so the scope of a memory is indexed with it as words of a kind that no text has.
 * Hex makes a word of any id.
 */
function inScope(collection: Collection, { agent_seq, user_id, session_id }: Scope): string {
  const word = (letter: string, id = '') => `"_${collection}${letter}${agent_seq}x${Buffer.from(id).toString('hex')}"`
  const words = []
  if (user_id !== undefined) words.push(word('u', user_id ?? ''))
  if (session_id !== undefined) words.push(word('s', session_id ?? ''))
  return `(${words.length === 0 ? word('a') : words.join(' AND ')})`
}

const SCOPE_WORDS = ['a', 'u', 's'].map((letter) => {
  const id = { a: `''`, u: 'hex(user_id)', s: 'hex(session_id)' }[letter]
  return `' _' || case kind when 'turn' then 'turn' else 'note' end || '${letter}' || agent_seq || 'x' || ${id}`
})

/** Belongs behind every insert of `count` memories. PostgreSQL needs nothing: its vectors are a generated column. */
export function indexNewest(engine: Engine, count: number) {
  if (engine === 'postgres') return undefined
  // Not a trigger: that would make FTS5 write out its index after every row, at three times the price.
  return {
    sql: `insert into memory_index (rowid, terms)
      select seq, terms || ${SCOPE_WORDS.join(' || ')} from memories order by seq desc limit ?`,
    values: [count],
  }
}

/** Belongs before the removal of memories. */
export async function removeFromIndex(db: Database, seqs: number[]): Promise<void> {
  if (engineOf(db) === 'postgres') return
  await sql`delete from memory_index where rowid in (select value from json_each(${JSON.stringify(seqs)}))`.execute(db)
}
