import type { RawBuilder } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import type { Collection } from '../ranking/postings.ts'
import type { Clauses } from '../ranking/tiers.ts'

/** Counting stops here. A word in more memories than this is common, and its exact number doesn't matter. */
export const COUNTED = 10_000

export type TermCount = { term: string; turns: number; notes: number }

/** The queries on the full-text index of one engine. */
export type FullText = {
  /** Counts the memories of the scope in which each term occurs. */
  having(scope: MemoryScope, terms: string[]): RawBuilder<TermCount>
  /** The newest memories of the scope that match, as a table with a column `seq`. */
  fitting(scope: MemoryScope, clauses: Clauses, limit: number): RawBuilder<{ seq: number }>
}

/**
 * The words with which the index marks a memory's scope; a memory has all of them. No text contains such words. They
 * let the index find the memories of a scope without reading others.
 */
export function scopeWords(
  collection: Collection,
  { agent_seq, user_id, session_id }: MemoryScope,
  written: (id: string) => string,
): string[] {
  const word = (letter: string, id: string) => `_${collection}${letter}${agent_seq}x${written(id)}`
  const words = []
  if (user_id !== undefined) words.push(word('u', user_id ?? ''))
  if (session_id !== undefined) words.push(word('s', session_id ?? ''))
  return words.length === 0 ? [word('a', '')] : words
}
