import type { Window } from '../language/dates.ts'
import { applyFactors } from './factors.ts'
import type { Plan, WeighedTerm } from './plan.ts'
import type { Postings } from './postings.ts'
import { Shortlist } from './shortlist.ts'
import {
  ALIKE,
  LEAK_AFTER,
  LEAK_BEFORE,
  LEAK_DECAY,
  LEAKING_RARITY,
  LEAST_LEAK,
  LENGTH_WEIGHT,
  MEANING_WEIGHT,
  MENTION_MARGIN,
  REACH,
  SATURATION,
} from './weights.ts'

const DAY = 86_400_000

/** How a memory was found, as bits. */
export const WORDS = 1
export const DATE = 2
export const MEANING = 4

/**
 * Adds up the scores of a scope's memories. It reuses its arrays in each search, so a search allocates little. A thread
 * needs only one scorer for all scopes.
 */
export class Scorer {
  /** The number of memories with a score, and the list of these memories. */
  found = 0
  memories = new Int32Array(0)
  /** Indexed by memory. */
  sums = new Float64Array(0)
  ways = new Uint8Array(0)

  /** For one term, how often it counts for each memory, including shares from its neighbours. */
  #frequencies = new Float64Array(0)
  #touched = new Int32Array(0)
  #touches = 0
  #cosines = new Float64Array(0)

  /** The memories to score if there are too many to score all. */
  readonly #shortlist = new Shortlist()
  #isShort = false

  /**
   * Computes BM25 for all memories that share a term with the plan. A term counts for the memory that contains it and,
   * with less weight, for the turns around it, because an answer rarely repeats the words of its question. If that
   * would take more than `visits`, only the memories of a shortlist are scored.
   */
  score(postings: Postings, plan: Plan, visits = Number.POSITIVE_INFINITY): void {
    this.#clear(postings.size)
    const { before, after, meanings, terms } = postings
    const cosines = meanings?.compare(plan.asked, { before, after }, this.#cosines) ? this.#cosines : undefined
    this.#isShort = effortOf(postings, plan) > visits
    if (this.#isShort) this.#shortlist.choose(postings, plan, { visits, cosines })
    for (const [i, term] of plan.terms.entries()) {
      const spread = this.#spreader(postings, plan, term)
      if (this.#isShort) for (const occurrence of this.#shortlist.occurrencesOf(i)) spread(occurrence)
      else for (let at = terms.newest(term.term); at >= 0; at = terms.older[at] as number) spread(at)
      this.#saturate(postings, term)
    }
    if (cosines) this.#addMeaning(postings.size, cosines)
    if (plan.time) this.#addTime(postings, plan.time)
    applyFactors(postings, plan, this)
  }

  #clear(size: number): void {
    if (this.sums.length < size) {
      // A scope grows with every message, so the arrays are made larger than necessary.
      const room = 2 * size
      this.memories = new Int32Array(room)
      this.sums = new Float64Array(room)
      this.ways = new Uint8Array(room)
      this.#frequencies = new Float64Array(room)
      this.#touched = new Int32Array(room)
      this.#cosines = new Float64Array(room)
    } else {
      for (let i = 0; i < this.found; i++) {
        const memory = this.memories[i] as number
        this.sums[memory] = 0
        this.ways[memory] = 0
      }
    }
    this.found = 0
  }

  /** Returns a function that counts an occurrence of a term for its memory and for the turns around it. */
  #spreader(postings: Postings, { averages }: Plan, { turn }: WeighedTerm): (occurrence: number) => void {
    const { terms, lengths, notes } = postings
    const share = shareOf(turn)
    return (occurrence) => {
      const memory = terms.memories[occurrence] as number
      const average = notes[memory] === 1 ? averages.note : averages.turn
      const norm = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * (lengths[memory] as number)) / average
      const frequency = (terms.frequencies[occurrence] as number) / norm
      this.#touch(memory, frequency)
      if (share === 0) return
      this.#leak(postings.after, memory, LEAK_AFTER * share * frequency)
      this.#leak(postings.before, memory, LEAK_BEFORE * share * frequency)
    }
  }

  #leak(next: Int32Array, from: number, frequency: number): void {
    let memory = next[from] as number
    for (let distance = 1; distance <= REACH && memory >= 0; distance++) {
      if (this.#mayScore(memory)) this.#touch(memory, frequency)
      frequency *= LEAK_DECAY
      memory = next[memory] as number
    }
  }

  #mayScore(memory: number): boolean {
    return !this.#isShort || this.#shortlist.marks[memory] === 1
  }

  #touch(memory: number, frequency: number): void {
    const known = this.#frequencies[memory] as number
    if (known === 0) this.#touched[this.#touches++] = memory
    this.#frequencies[memory] = known + frequency
  }

  #saturate({ notes }: Postings, { turn, note }: WeighedTerm): void {
    for (let i = 0; i < this.#touches; i++) {
      const memory = this.#touched[i] as number
      const frequency = this.#frequencies[memory] as number
      this.#frequencies[memory] = 0
      const weight = notes[memory] === 1 ? note : turn
      this.#add(memory, (weight * frequency * (SATURATION + 1)) / (frequency + SATURATION), WORDS)
    }
    this.#touches = 0
  }

  /**
   * Adds memories that mean the same in other words. Most texts are slightly similar, so a memory that shares no word
   * with the query needs a higher cosine.
   */
  #addMeaning(size: number, cosines: Float64Array): void {
    for (let memory = 0; memory < size; memory++) {
      const cosine = cosines[memory] as number
      if (cosine < (this.sums[memory] === 0 ? ALIKE : 0) || !this.#mayScore(memory)) continue
      this.#add(memory, MEANING_WEIGHT * cosine, cosine >= ALIKE ? MEANING : 0)
    }
  }

  /**
   * Adds memories that were said at the time in question or that mention it. A mention counts only if it was said near
   * that time, because an index of words can't find any others.
   */
  #addTime(postings: Postings, { from, to, weight }: NonNullable<Plan['time']>): void {
    const { times, firstDays, lastDays } = postings
    const near = this.#isShort ? this.#shortlist.memories() : nearby(postings, { from, to })
    const byWords = this.found
    const addIfThen = (memory: number) => {
      const time = times[memory] as number
      const isSaid = time >= from && time < to
      const isMentioned = (firstDays[memory] as number) * DAY < to && (lastDays[memory] as number) * DAY > from
      if (isSaid || isMentioned) this.#add(memory, weight, DATE)
    }
    for (let i = 0; i < byWords; i++) addIfThen(this.memories[i] as number)
    for (const memory of near) {
      const time = times[memory] as number
      const isNear = time >= from - MENTION_MARGIN && time < to + MENTION_MARGIN
      if (isNear && this.sums[memory] === 0) addIfThen(memory)
    }
  }

  #add(memory: number, sum: number, way: number): void {
    const known = this.sums[memory] as number
    if (known === 0) this.memories[this.found++] = memory
    this.sums[memory] = known + sum
    this.ways[memory] = (this.ways[memory] as number) | way
  }
}

function nearby(postings: Postings, { from, to }: Window): Int32Array {
  return postings.saidBetween(from - MENTION_MARGIN, to + MENTION_MARGIN)
}

/**
 * The share of a term that the turns around it get, by the term's rarity. If the share would be too small, they get
 * nothing.
 */
function shareOf(rarity: number): number {
  const share = Math.min(1, rarity / LEAKING_RARITY)
  return share < LEAST_LEAK ? 0 : share
}

/** Roughly how many memories are visited if all are scored. */
function effortOf(postings: Postings, plan: Plan): number {
  const { terms } = postings
  let visits = plan.time ? nearby(postings, plan.time).length : 0
  for (const { term, turn } of plan.terms) {
    visits += terms.notesHaving(term) + terms.turnsHaving(term) * (shareOf(turn) === 0 ? 1 : 1 + 2 * REACH)
  }
  return visits
}
