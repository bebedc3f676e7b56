import type { RawBuilder } from 'kysely'
import type { MemoryScope as Scope } from '../../operation/recall.ts'
import type { Collection } from '../ranking/postings.ts'
import type { Clauses } from '../ranking/tiers.ts'

/** Beyond this a word is common, however common: counting on would only cost time. */
export const COUNTED = 10_000

export type Having = { term: string; turns: number; notes: number }

/** How the index of an engine is asked. */
export type FullText = {
  /** In how many memories of the scope each term is. */
  having(scope: Scope, terms: string[]): RawBuilder<Having>
  /** The newest memories of the scope that fit, as a table with a column `seq`. */
  fitting(scope: Scope, clauses: Clauses, limit: number): RawBuilder<{ seq: number }>
}

/**
 * The scope of a memory is indexed with it, as words of a kind that no text has: then the index alone finds what is in
 * the scope, however much is outside. All of these words are in a memory of the scope.
 */
export function scopeWords(
  collection: Collection,
  { agent_seq, user_id, session_id }: Scope,
  written: (id: string) => string,
): string[] {
  const word = (letter: string, id: string) => `_${collection}${letter}${agent_seq}x${written(id)}`
  const words = []
  if (user_id !== undefined) words.push(word('u', user_id ?? ''))
  if (session_id !== undefined) words.push(word('s', session_id ?? ''))
  return words.length === 0 ? [word('a', '')] : words
}
