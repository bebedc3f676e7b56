import { applyFactors } from './factors.ts'
import type { Plan, WeighedTerm } from './plan.ts'
import type { Postings } from './postings.ts'
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
  TIME_WEIGHT,
} from './weights.ts'

const DAY = 86_400_000

/** For each word, even a common one, at least this many of the newest memories are visited. */
const LEAST_VISITS = 64
/** A word of this rarity (idf) gets all its visits. A more common word adds less to a score, so it gets fewer. */
const WORTHY_RARITY = 4

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

  /**
   * Computes BM25 for all memories that share a term with the plan. A term counts for the memory that contains it and,
   * with less weight, for the turns around it, because an answer rarely repeats the words of its question. At most about
   * `visits` memories are visited. Rare terms come first, because they decide the top of a ranking.
   */
  score(postings: Postings, plan: Plan, visits = Number.POSITIVE_INFINITY): void {
    this.#clear(postings.size)
    const { before, after, meanings } = postings
    const cosines = meanings?.compare(plan.asked, { before, after }, this.#cosines) ? this.#cosines : undefined
    for (const [i, term] of plan.terms.entries()) {
      visits -= this.#addTerm(postings, plan, term, visits / (plan.terms.length - i))
      this.#saturate(postings, term)
    }
    if (cosines) this.#addMeaning(postings.size, cosines)
    if (plan.time) this.#addTime(postings, plan.time, visits)
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

  /**
   * Counts the occurrences of a term for their memories and for the turns around them. If there are too many, the term
   * counts only for the newest memories and for those that have rarer terms, and not for the turns around them. Returns
   * the number of visits.
   */
  #addTerm(postings: Postings, plan: Plan, { term, turn }: WeighedTerm, visits: number): number {
    const { terms } = postings
    const most = mostVisits(turn, visits)
    const share = shareOf(turn)
    const isSpread = share > 0 && (terms.turnsHaving(term) + terms.notesHaving(term)) * (1 + 2 * REACH) <= most
    let used = 0
    let at = terms.newest(term)
    for (; at >= 0 && used < most; at = terms.older[at] as number) {
      this.#addOccurrence(postings, plan, at, isSpread ? share : 0)
      used += isSpread ? 1 + 2 * REACH : 1
    }
    if (at < 0) return used
    const oldest = terms.memories[at] as number
    for (let i = 0; i < this.found && used < 2 * most; i++, used++) {
      const memory = this.memories[i] as number
      const occurrence = memory > oldest ? -1 : terms.occurrenceIn(memory, term)
      if (occurrence >= 0) this.#addOccurrence(postings, plan, occurrence, 0)
    }
    return used
  }

  #addOccurrence({ terms, lengths, notes, after, before }: Postings, { averages }: Plan, at: number, share: number) {
    const memory = terms.memories[at] as number
    const average = notes[memory] === 1 ? averages.note : averages.turn
    const norm = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * (lengths[memory] as number)) / average
    const frequency = (terms.frequencies[at] as number) / norm
    this.#touch(memory, frequency)
    if (share === 0) return
    this.#leak(after, memory, LEAK_AFTER * share * frequency)
    this.#leak(before, memory, LEAK_BEFORE * share * frequency)
  }

  #leak(next: Int32Array, from: number, frequency: number): void {
    let memory = next[from] as number
    for (let distance = 1; distance <= REACH && memory >= 0; distance++) {
      this.#touch(memory, frequency)
      frequency *= LEAK_DECAY
      memory = next[memory] as number
    }
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
      if (cosine < (this.sums[memory] === 0 ? ALIKE : 0)) continue
      this.#add(memory, MEANING_WEIGHT * cosine, cosine >= ALIKE ? MEANING : 0)
    }
  }

  /**
   * Adds memories that were said at the time in question or that mention it. A mention counts only if it was said near
   * that time, because an index of words can't find any others.
   */
  #addTime(postings: Postings, { from, to, weight }: NonNullable<Plan['time']>, visits: number): void {
    const { times, firstDays, lastDays } = postings
    let left = mostVisits((WORTHY_RARITY * weight) / TIME_WEIGHT, visits)
    for (let memory = postings.size - 1; memory >= 0; memory--) {
      const isFound = this.sums[memory] !== 0
      const time = times[memory] as number
      const isNear = time >= from - MENTION_MARGIN && time < to + MENTION_MARGIN
      if (!isFound && (!isNear || left === 0)) continue
      const isSaid = time >= from && time < to
      const isMentioned = (firstDays[memory] as number) * DAY < to && (lastDays[memory] as number) * DAY > from
      if (!isSaid && !isMentioned) continue
      this.#add(memory, weight, DATE)
      if (!isFound) left -= 1
    }
  }

  #add(memory: number, sum: number, way: number): void {
    const known = this.sums[memory] as number
    if (known === 0) this.memories[this.found++] = memory
    this.sums[memory] = known + sum
    this.ways[memory] = (this.ways[memory] as number) | way
  }
}

/**
 * The share of a term that the turns around it get, by the term's rarity. If the share would be too small, they get
 * nothing.
 */
function shareOf(rarity: number): number {
  const share = Math.min(1, rarity / LEAKING_RARITY)
  return share < LEAST_LEAK ? 0 : share
}

/** How many of `visits` a term of this rarity gets. */
function mostVisits(rarity: number, visits: number): number {
  return Math.ceil(Math.max(LEAST_VISITS, visits * Math.min(1, rarity / WORTHY_RARITY)))
}
