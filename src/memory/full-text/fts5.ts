import { sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import type { Collection } from '../ranking/postings.ts'
import { COUNTED, type FullText, scopeWords } from './full-text.ts'

/**
 * On SQLite, the index is a separate table, `memory_index`. Its rows are written and removed together with the
 * memories.
 */
export const fts5: FullText = {
  having(scope, terms) {
    const count = (collection: Collection) => sql`(select count(*) from (
      select 1 from memory_index where memory_index match '"' || value || '" AND ' || ${inScope(collection, scope)}
      limit ${COUNTED}))`
    return sql`select value as term, ${count('turn')} as turns, ${count('note')} as notes
      from json_each(${JSON.stringify(terms)})`
  },

  fitting(scope, clauses, limit) {
    const words = clauses.map((terms) => `(${terms.map(quote).join(' AND ')})`).join(' OR ')
    const query = `(${inScope('turn', scope)} OR ${inScope('note', scope)}) AND (${words})`
    return sql`(select rowid as seq from memory_index where memory_index match ${query}
      order by rowid desc limit ${limit})`
  },
}

/** Quotes a word, because no word inside quotes is an operator. */
function quote(word: string): string {
  return `"${word}"`
}

/** The words that select a scope. Words in the index contain only letters and digits, so IDs are written in hex. */
function inScope(collection: Collection, scope: MemoryScope): string {
  const words = scopeWords(collection, scope, (id) => Buffer.from(id).toString('hex'))
  return `(${words.map(quote).join(' AND ')})`
}

const SCOPE_WORDS = ['a', 'u', 's'].map((letter) => {
  const id = { a: `''`, u: 'hex(user_id)', s: 'hex(session_id)' }[letter]
  return `' _' || case kind when 'turn' then 'turn' else 'note' end || '${letter}' || agent_seq || 'x' || ${id}`
})
const INDEXED_TEXT = sql.raw(`terms || ${SCOPE_WORDS.join(' || ')}`)

/** One commit indexes about this many terms, and the writer serves other requests between two commits. */
const TERMS_PER_STATEMENT = 5_000
const MEMORIES_PER_STATEMENT = 1_000

/** Memories after this seq aren't in the index yet. */
const INDEXED = sql`(select coalesce(max(id), 0) from memory_index_docsize)`

/**
 * Indexes the memories that aren't indexed yet. Call this before every query of the index. Writes don't index their
 * memories, because for a few rows that takes longer than the rest of the write, and most scopes are searched in
 * memory. PostgreSQL doesn't need this, because its vectors are a generated column.
 */
export async function indexWaiting(db: Database): Promise<void> {
  if (engineOf(db) === 'postgres') return
  // Memories that are written from now on needn't be found, so the search ends even while others keep writing.
  const { rows } = await sql<{ seq: number | null }>`select max(seq) as seq from memories`.execute(db)
  const newest = rows[0]?.seq ?? 0
  while (await isWaiting(db, newest)) {
    await sql`insert into memory_index (rowid, terms)
      select seq, ${INDEXED_TEXT} from (
        select *, sum(length) over (order by seq) - length as terms_before from (
          select * from memories where seq > ${INDEXED} order by seq limit ${MEMORIES_PER_STATEMENT}))
      where terms_before < ${TERMS_PER_STATEMENT} order by seq`.execute(db)
  }
}

/** Whether any memory up to this one isn't indexed yet. Removed memories don't count. */
async function isWaiting(db: Database, newest: number): Promise<boolean> {
  const { rows } = await sql<{ waiting: number }>`
    select exists (select 1 from memories where seq > ${INDEXED} and seq <= ${newest}) as waiting`.execute(db)
  return rows[0]?.waiting === 1
}

/** Indexes memories again. Call this after changing their terms, in the same transaction. */
export async function indexAnew(db: Database, seqs: number[]): Promise<void> {
  if (engineOf(db) === 'postgres') return
  const { rows } = await sql<{ seq: number }>`select ${INDEXED} as seq`.execute(db)
  await removeFromIndex(db, seqs)
  await sql`insert into memory_index (rowid, terms)
    select seq, ${INDEXED_TEXT} from memories
    where seq in (select value from json_each(${JSON.stringify(seqs)})) and seq <= ${rows[0]?.seq ?? 0}`.execute(db)
}

/** Removes memories from the index. Call this before removing the memories. */
export async function removeFromIndex(db: Database, seqs: number[]): Promise<void> {
  if (engineOf(db) === 'postgres') return
  await sql`delete from memory_index where rowid in (select value from json_each(${JSON.stringify(seqs)}))`.execute(db)
}
