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

/** Every query that reads memories carries this, whatever the index found. */
export function within({ agent_seq, user_id, session_id }: Scope): RawBuilder<SqlBool> {
  const conditions = [sql`memories.agent_seq = ${agent_seq}`]
  if (user_id !== undefined) conditions.push(sql`memories.user_id = ${user_id ?? ''}`)
  if (session_id !== undefined) conditions.push(sql`memories.session_id = ${session_id ?? ''}`)
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

/** Beyond this a word is common, however common: counting on would only cost time. */
const COUNTED = 10_000

export type Having = { term: string; turns: number; notes: number }

/** In how many memories of the scope each term is. */
export async function countHaving(db: Database, scope: Scope, terms: string[]): Promise<Having[]> {
  const postgres = engineOf(db) === 'postgres'
  const found = (collection: Collection) =>
    postgres
      ? sql`memories where lexemes @@ ('''' || term || ''' & ' || ${inScope(db, collection, scope)}::text)::tsquery`
      : sql`memory_index where memory_index match '"' || value || '" AND ' || ${inScope(db, collection, scope)}`
  const count = (collection: Collection) =>
    sql`(select count(*) from (select 1 from ${found(collection)} limit ${COUNTED}) as found)`
  const given = postgres
    ? sql`unnest(${terms}::text[]) as given(term)`
    : sql`(select value, value as term from json_each(${JSON.stringify(terms)}))`
  const { rows } = await sql<Having>`
    select term, ${count('turn')} as turns, ${count('note')} as notes from ${given}`.execute(db)
  return rows
}

/** The newest memories of the scope that fit, as a table with a column `seq`. */
export function fitting(db: Database, scope: Scope, clauses: Clauses, limit: number): RawBuilder<{ seq: number }> {
  const { and, or, quote } = syntaxOf(db)
  const words = clauses.map((terms) => `(${terms.map(quote).join(and)})`).join(or)
  const query = `(${inScope(db, 'turn', scope)}${or}${inScope(db, 'note', scope)})${and}(${words})`
  // `offset 0`: PostgreSQL is not to walk through all memories from the newest, looking for some that fit.
  return engineOf(db) === 'postgres'
    ? sql`(select seq from (select seq from memories where lexemes @@ ${query}::tsquery offset 0) as found
        order by seq desc limit ${limit})`
    : sql`(select rowid as seq from memory_index where memory_index match ${query} order by rowid desc limit ${limit})`
}

/** The given memories as a table with a column `seq`. */
export function listed(db: Database, seqs: number[]): RawBuilder<{ seq: number }> {
  return engineOf(db) === 'postgres'
    ? sql`(select unnest(${seqs}::bigint[]) as seq)`
    : sql`(select value as seq from json_each(${JSON.stringify(seqs)}))`
}

/** In quotes no word is an operator. Terms are letters and digits: only an id can need escaping. */
function syntaxOf(db: Database) {
  return engineOf(db) === 'postgres'
    ? { and: ' & ', or: ' | ', quote: (word: string) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'` }
    : { and: ' AND ', or: ' OR ', quote: (word: string) => `"${word}"` }
}

/**
 * The scope of a memory is indexed with it, as words of a kind that no text has: then the index alone finds what is in
 * the scope, however much is outside. In SQLite a word has letters and digits only, so an id is written in hex.
 */
function inScope(db: Database, collection: Collection, { agent_seq, user_id, session_id }: Scope): string {
  const { and, quote } = syntaxOf(db)
  const written = (id: string) => (engineOf(db) === 'postgres' ? id : Buffer.from(id).toString('hex'))
  const word = (letter: string, id: string) => quote(`_${collection}${letter}${agent_seq}x${written(id)}`)
  const words = []
  if (user_id !== undefined) words.push(word('u', user_id ?? ''))
  if (session_id !== undefined) words.push(word('s', session_id ?? ''))
  return `(${words.length === 0 ? word('a', '') : words.join(and)})`
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
