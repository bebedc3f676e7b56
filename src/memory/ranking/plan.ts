import type { Collection, ScopeStatistics, Statistics } from './postings.ts'
import { SPEAKER_MARK } from './terms.ts'
import { LEAST_COUNT, SPEAKER_SHARE, SPEAKER_TURNS } from './weights.ts'

/** A term of the query and what it weighs in each collection: the rarer it is, the more it says. */
export type WeighedTerm = { term: string } & Readonly<Record<Collection, number>>

/** What is looked for, once it is known what the scope has. */
export type Plan = {
  /** The rarest first. */
  terms: WeighedTerm[]
  /** Marked terms that name speakers. */
  names: string[]
  averages: Readonly<Record<Collection, number>>
}

/** What the statistics of a plan must count: the terms of the query, and the same as names of speakers. */
export function countedTerms(terms: readonly string[]): string[] {
  return [...terms, ...terms.map((term) => SPEAKER_MARK + term)]
}

/**
 * A term that names a speaker tells who, not what: it stands mostly in what others said to them. It does not count, unless
 * there is nothing else to go by.
 */
export function planSearch(terms: readonly string[], { turn, note }: ScopeStatistics): Plan {
  const isSpeaker = (name: string) =>
    (turn.having.get(name) ?? 0) >= Math.max(SPEAKER_TURNS, SPEAKER_SHARE * turn.count)
  const names = terms.map((term) => SPEAKER_MARK + term).filter(isSpeaker)
  const others = terms.filter((term) => !names.includes(SPEAKER_MARK + term))
  const counted = others.length > 0 ? others : terms
  return {
    terms: counted
      .filter((term) => (turn.having.get(term) ?? 0) + (note.having.get(term) ?? 0) > 0)
      .map((term) => ({ term, turn: rarity(term, turn), note: rarity(term, note) }))
      .toSorted((a, b) => b.turn - a.turn || b.note - a.note || (a.term < b.term ? -1 : 1)),
    names,
    averages: { turn: averageLength(turn), note: averageLength(note) },
  }
}

function rarity(term: string, { count, having }: Statistics): number {
  const n = having.get(term) ?? 0
  // How many have a term can be counted later than how many there are.
  const all = Math.max(count, LEAST_COUNT, n)
  return Math.log(1 + (all - n + 0.5) / (n + 0.5))
}

function averageLength({ count, length }: Statistics): number {
  return length > 0 ? length / count : 1
}
