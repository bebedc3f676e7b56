import type { Plan, WeighedTerm } from './plan.ts'
import { type Postings, roleNumber } from './postings.ts'
import {
  ALIKE,
  LEAK_AFTER,
  LEAK_BEFORE,
  LEAK_DECAY,
  LEAKING_RARITY,
  LEAST_LEAK,
  LENGTH_PRIOR,
  LENGTH_WEIGHT,
  MEANING_WEIGHT,
  MENTION_MARGIN,
  OTHER_ROLE,
  OTHER_SPEAKER,
  REACH,
  SATURATION,
  TIME_WORD,
} from './weights.ts'

const DAY = 86_400_000

/** Ways in which a memory was found, as bits. */
export const WORDS = 1
export const DATE = 2
export const MEANING = 4

/**
 * Adds up the scores of the memories of a scope. It keeps its arrays from search to search, so that a search allocates
 * nothing. A thread needs one scorer for all scopes.
 */
export class Scorer {
  /** The number of memories with a score, and which these are. */
  found = 0
  memories = new Int32Array(0)
  /** Indexed by memory. */
  sums = new Float64Array(0)
  ways = new Uint8Array(0)

  /** For one term: how often it counts for each memory, with the shares from its neighbours. */
  #frequencies = new Float64Array(0)
  #touched = new Int32Array(0)
  #touches = 0
  #visits = 0

  /**
   * Computes BM25 for all memories that share a term with the plan. A term counts for the memory that has it and, with
   * less weight, for the turns around it, because an answer rarely repeats the words of its question. With a limit on
   * `visits`, rare terms are looked up first and completely. Of very common terms only the newest memories count.
   */
  score(postings: Postings, plan: Plan, visits = Number.POSITIVE_INFINITY): void {
    this.#clear(postings.size)
    this.#visits = visits
    for (const term of plan.terms) {
      this.#spread(postings, plan, term)
      this.#saturate(postings, term)
    }
    this.#addMeaning(postings, plan.asked)
    if (plan.time) this.#addTime(postings, plan.time)
    this.#adjust(postings, plan)
  }

  #clear(size: number): void {
    if (this.sums.length < size) {
      this.memories = new Int32Array(size)
      this.sums = new Float64Array(size)
      this.ways = new Uint8Array(size)
      this.#frequencies = new Float64Array(size)
      this.#touched = new Int32Array(size)
    } else {
      for (let i = 0; i < this.found; i++) {
        const memory = this.memories[i] as number
        this.sums[memory] = 0
        this.ways[memory] = 0
      }
    }
    this.found = 0
  }

  #spread(postings: Postings, { averages }: Plan, { term, turn }: WeighedTerm): void {
    const { terms, lengths, notes } = postings
    const share = Math.min(1, turn / LEAKING_RARITY)
    for (let place = terms.newest(term); place >= 0; place = terms.older[place] as number) {
      if (this.#visits-- <= 0) return
      const memory = terms.memories[place] as number
      const average = notes[memory] === 1 ? averages.note : averages.turn
      const norm = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * (lengths[memory] as number)) / average
      const frequency = (terms.frequencies[place] as number) / norm
      this.#touch(memory, frequency)
      if (share < LEAST_LEAK) continue
      this.#leak(postings.after, memory, LEAK_AFTER * share * frequency)
      this.#leak(postings.before, memory, LEAK_BEFORE * share * frequency)
    }
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
      const known = this.sums[memory] as number
      if (known === 0) this.memories[this.found++] = memory
      this.ways[memory] = WORDS
      this.sums[memory] = known + (weight * frequency * (SATURATION + 1)) / (frequency + SATURATION)
    }
    this.#touches = 0
  }

  /**
   * Adds memories that mean the same in other words. Most texts are a little similar, so a memory without a shared word
   * needs a higher cosine.
   */
  #addMeaning({ size, before, after, meanings }: Postings, terms: string[]): void {
    const cosines = this.#frequencies
    if (!meanings?.compare(terms, { before, after }, cosines)) return
    for (let memory = 0; memory < size; memory++) {
      const cosine = cosines[memory] as number
      cosines[memory] = 0
      const known = this.sums[memory] as number
      if (cosine < (known === 0 ? ALIKE : 0)) continue
      if (known === 0) this.memories[this.found++] = memory
      if (cosine >= ALIKE) this.ways[memory] = (this.ways[memory] as number) | MEANING
      this.sums[memory] = known + MEANING_WEIGHT * cosine
    }
  }

  /**
   * Adds memories that were said at the time in question, or that mention it. A mention counts only if it was said near
   * that time, because an index of words cannot find others.
   */
  #addTime({ size, times, firstDays, lastDays }: Postings, { from, to, weight }: NonNullable<Plan['time']>): void {
    for (let memory = 0; memory < size; memory++) {
      const time = times[memory] as number
      const isSaid = time >= from && time < to
      const isMentioned = (firstDays[memory] as number) * DAY < to && (lastDays[memory] as number) * DAY > from
      if (!isSaid && !isMentioned) continue
      const known = this.sums[memory] as number
      if (known === 0) {
        if (time < from - MENTION_MARGIN || time >= to + MENTION_MARGIN) continue
        this.memories[this.found++] = memory
      }
      this.sums[memory] = known + weight
      this.ways[memory] = (this.ways[memory] as number) | DATE
    }
  }

  #adjust(postings: Postings, { names, asksWhen, saidBy }: Plan): void {
    const { speakers, lengths, roles, timely } = postings
    const otherRole = saidBy && roleNumber(saidBy === 'user' ? 'assistant' : 'user')
    const named = names.length === 0 ? [] : postings.speakersNamed(names)
    // A query with two speakers asks for neither of them. It may also name a speaker who has no memory here.
    const isSpeakerAsked = names.length > 0 && named.length < 2
    for (let i = 0; i < this.found; i++) {
      const memory = this.memories[i] as number
      let sum = (this.sums[memory] as number) * (1 + LENGTH_PRIOR * Math.log1p(lengths[memory] as number))
      const hasSpeaker = (speakers[memory] as number) >= 0
      if (isSpeakerAsked && hasSpeaker && speakers[memory] !== named[0]) sum *= OTHER_SPEAKER
      if (!hasSpeaker && roles[memory] === otherRole) sum *= OTHER_ROLE
      if (asksWhen && timely[memory] === 1) sum *= TIME_WORD
      this.sums[memory] = sum
    }
  }
}
