import { sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import type { Collection } from '../ranking/postings.ts'
import { COUNTED, type FullText, scopeWords } from './full-text.ts'

/** PostgreSQL uses the column `memories.lexemes`, which is generated from a memory's terms and scope. */
export const tsvector: FullText = {
  having(scope, terms) {
    const count = (collection: Collection) => sql`(select count(*) from (
      select 1 from memories where lexemes @@ ('''' || term || ''' & ' || ${inScope(collection, scope)}::text)::tsquery
      limit ${COUNTED}) as found)`
    return sql`select term, ${count('turn')} as turns, ${count('note')} as notes
      from unnest(${terms}::text[]) as given(term)`
  },

  fitting(scope, clauses, limit) {
    const words = clauses.map((terms) => `(${terms.map(quote).join(' & ')})`).join(' | ')
    const query = `(${inScope('turn', scope)} | ${inScope('note', scope)}) & (${words})`
    // `offset 0` stops PostgreSQL from scanning all memories, newest first, for some that match.
    return sql`(select seq from (select seq from memories where lexemes @@ ${query}::tsquery offset 0) as found
      order by seq desc limit ${limit})`
  },
}

/**
 * Quotes a word, because no word inside quotes is an operator. Terms contain only letters and digits, so only IDs may
 * need escaping.
 */
function quote(word: string): string {
  return `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

function inScope(collection: Collection, scope: MemoryScope): string {
  return `(${scopeWords(collection, scope, (id) => id)
    .map(quote)
    .join(' & ')})`
}
