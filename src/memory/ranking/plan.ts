import type { Window } from '../language/dates.ts'
import type { Question } from '../language/question.ts'
import { SPEAKER_MARK } from '../language/terms.ts'
import type { Collection, Compound, ScopeStatistics, Statistics } from './postings.ts'
import { COMPOUND_WEIGHT, LEAST_COUNT, SPEAKER_SHARE, SPEAKER_TURNS, TIME_WEIGHT } from './weights.ts'

/** A term of the query and its weight in each collection. Rare terms have larger weights. */
export type WeighedTerm = { term: string } & Readonly<Record<Collection, number>>

/** A search, together with what is known about its scope. */
export type Plan = {
  /** Rarest term first. */
  terms: WeighedTerm[]
  /** All terms that are used, including those that no memory contains. */
  asked: string[]
  /** The marked terms that name speakers. */
  names: string[]
  averages: Readonly<Record<Collection, number>>
  /** The time in question, and what a memory from that time adds to its score. */
  time: (Window & { weight: number }) | undefined
  asksWhen: boolean
  saidBy: Question['saidBy']
}

/**
 * Plans a search. A speaker's name occurs mostly in what others said to that speaker. So it is used as a term only if
 * the query has no other term.
 */
export function planSearch(
  question: Question,
  { turn, note, said }: ScopeStatistics,
  compounds: ReadonlyMap<string, readonly Compound[]> = new Map(),
): Plan {
  const { terms, window, asksWhen, saidBy } = question
  const isSpeaker = (name: string) =>
    (turn.having.get(name) ?? 0) >= Math.max(SPEAKER_TURNS, SPEAKER_SHARE * turn.count)
  const names = terms.map((term) => SPEAKER_MARK + term).filter(isSpeaker)
  const others = terms.filter((term) => !names.includes(SPEAKER_MARK + term))
  const counted = others.length > 0 || window ? others : terms
  const found = counted
    .filter((term) => (turn.having.get(term) ?? 0) + (note.having.get(term) ?? 0) > 0)
    .map((term) => ({ term, turn: rarityOf(term, turn), note: rarityOf(term, note) }))
  const within = counted.flatMap((part) => weighCompounds(compounds.get(part) ?? [], part, { turn, note }))
  const known = new Set(counted)
  return {
    terms: [...found, ...within.filter(({ term }) => !known.has(term))].toSorted(
      (a, b) => b.turn - a.turn || b.note - a.note || (a.term < b.term ? -1 : 1),
    ),
    asked: counted,
    names,
    averages: { turn: averageLength(turn), note: averageLength(note) },
    // A time is treated like a term that all memories from that time contain.
    time: window && { ...window, weight: TIME_WEIGHT * rarity(said, turn.count + note.count) },
    asksWhen,
    saidBy,
  }
}

/** The weights of compounds. A compound counts as being as common as its part, alone and in all compounds together. */
function weighCompounds(
  compounds: readonly Compound[],
  part: string,
  statistics: Readonly<Record<Collection, Statistics>>,
): WeighedTerm[] {
  const weigh = (collection: Collection) => {
    const { count, having } = statistics[collection]
    const all = compounds.reduce((sum, compound) => sum + compound[collection], having.get(part) ?? 0)
    return COMPOUND_WEIGHT * rarity(all, count)
  }
  const [turn, note] = [weigh('turn'), weigh('note')]
  return compounds.map(({ term }) => ({ term, turn, note }))
}

function rarityOf(term: string, { count, having }: Statistics): number {
  return rarity(having.get(term) ?? 0, count)
}

function rarity(having: number, count: number): number {
  // The memories with a term may be counted after all memories were counted, so their number can be larger.
  const all = Math.max(count, LEAST_COUNT, having)
  return Math.log(1 + (all - having + 0.5) / (having + 0.5))
}

function averageLength({ count, length }: Statistics): number {
  return length > 0 ? length / count : 1
}
