import { applyFactors } from './factors.ts'
import { Best } from './heap.ts'
import type { Plan, WeighedTerm } from './plan.ts'
import type { Postings } from './postings.ts'
import { ALIKE, LENGTH_WEIGHT, MEANING_WEIGHT, REACH, SATURATION, TIME_WEIGHT } from './weights.ts'

/** The list has one entry for each of this many visits. */
const VISITS_PER_CHOSEN = 64
/** For each word, even a common one, at least this many of the newest memories are visited. */
const LEAST_VISITS = 64
/** A word of this rarity (idf) gets all its visits. A more common word adds less to a score, so it gets fewer. */
const WORTHY_RARITY = 4

type ShortlistOptions = { visits: number; cosines: Float64Array | undefined }

/**
 * The memories of a large scope that are worth a full score: the best ones by their own words, their meaning and their
 * time, and the turns around them. For very common words, only the newest memories are visited.
 */
export class Shortlist {
  /** Indexed by memory: 1 if it is on the list. */
  marks = new Uint8Array(0)
  #listed = new Int32Array(0)
  #size = 0
  /** For each term of the plan, where the memories on the list contain it. */
  readonly #occurrences: number[][] = []
  /** For the number of each term, its position in the plan, starting at 1. */
  #planned = new Uint8Array(0)

  #sums = new Float64Array(0)
  #memories = new Int32Array(0)
  #found = 0

  /** The memories on the list. */
  memories(): Int32Array {
    return this.#listed.subarray(0, this.#size)
  }

  /** Where the memories on the list contain a term, which is given by its position in the plan. */
  occurrencesOf(term: number): readonly number[] {
    return this.#occurrences[term] ?? []
  }

  choose(postings: Postings, plan: Plan, { visits, cosines }: ShortlistOptions): void {
    this.#clear(postings.size)
    this.#addWords(postings, plan, visits)
    if (cosines) this.#addMeaning(postings.size, cosines)
    if (plan.time) this.#addTime(postings, plan.time, visits)
    applyFactors(postings, plan, { memories: this.#memories, found: this.#found, sums: this.#sums })
    const chosen = Math.ceil(visits / VISITS_PER_CHOSEN)
    this.#listRare(postings, plan, chosen / 2)
    const best = new Best(chosen)
    for (let i = 0; i < this.#found; i++) {
      const memory = this.#memories[i] as number
      best.offer(memory, this.#sums[memory] as number, 0)
      this.#sums[memory] = 0
    }
    for (const { seq: memory } of best.all()) this.#listWithTurnsAround(postings, memory)
    this.#findOccurrences(postings, plan)
  }

  #clear(size: number): void {
    if (this.#sums.length < size) {
      const room = 2 * size
      this.#sums = new Float64Array(room)
      this.#memories = new Int32Array(room)
      this.#listed = new Int32Array(room)
      this.marks = new Uint8Array(room)
    } else {
      for (const memory of this.memories()) this.marks[memory] = 0
    }
    this.#size = 0
    this.#found = 0
  }

  /** Each term gets a share of the visits. What a rare term doesn't need is left for the more common ones. */
  #addWords(postings: Postings, plan: Plan, visits: number): void {
    for (const [i, term] of plan.terms.entries()) {
      visits -= this.#addTerm(postings, plan, term, worthOf(term.turn, visits / (plan.terms.length - i)))
    }
  }

  /** Returns how many memories were visited. */
  #addTerm(postings: Postings, { averages }: Plan, weighed: WeighedTerm, visits: number): number {
    const { terms, lengths, notes } = postings
    let used = 0
    for (let at = terms.newest(weighed.term); at >= 0 && used < visits; at = terms.older[at] as number) {
      const memory = terms.memories[at] as number
      const isNote = notes[memory] === 1
      const average = isNote ? averages.note : averages.turn
      const norm = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * (lengths[memory] as number)) / average
      const frequency = terms.frequencies[at] as number
      const weight = isNote ? weighed.note : weighed.turn
      this.#add(memory, (weight * frequency * (SATURATION + 1)) / (frequency + SATURATION * norm))
      used++
    }
    return used
  }

  #addMeaning(size: number, cosines: Float64Array): void {
    for (let memory = 0; memory < size; memory++) {
      const cosine = cosines[memory] as number
      if (cosine >= (this.#sums[memory] === 0 ? ALIKE : 0)) this.#add(memory, MEANING_WEIGHT * cosine)
    }
  }

  /** Adds the latest memories from that time, and all memories from that time that were found by their words. */
  #addTime(postings: Postings, { from, to, weight }: NonNullable<Plan['time']>, visits: number): void {
    const byWords = this.#found
    for (let i = 0; i < byWords; i++) {
      const memory = this.#memories[i] as number
      const time = postings.times[memory] as number
      if (time >= from && time < to) this.#add(memory, weight)
    }
    const said = postings.saidBetween(from, to)
    const first = Math.max(0, said.length - worthOf(weight / TIME_WEIGHT, visits))
    for (let i = said.length - 1; i >= first; i--) {
      const memory = said[i] as number
      if (this.#sums[memory] === 0) this.#add(memory, weight)
    }
  }

  #add(memory: number, sum: number): void {
    const known = this.#sums[memory] as number
    if (known === 0) this.#memories[this.#found++] = memory
    this.#sums[memory] = known + sum
  }

  /**
   * Lists all memories with rare words. Old memories weren't visited for the common words, and must not lose against
   * new ones because of that.
   */
  #listRare(postings: Postings, { terms: weighed }: Plan, room: number): void {
    const { terms } = postings
    for (const { term } of weighed) {
      room -= terms.turnsHaving(term) + terms.notesHaving(term)
      if (room < 0) return
      for (let at = terms.newest(term); at >= 0; at = terms.older[at] as number) {
        this.#listWithTurnsAround(postings, terms.memories[at] as number)
      }
    }
  }

  #listWithTurnsAround({ before, after }: Postings, memory: number): void {
    this.#list(memory)
    let [earlier, later] = [before[memory] as number, after[memory] as number]
    for (let distance = 1; distance <= REACH; distance++) {
      if (earlier >= 0) {
        this.#list(earlier)
        earlier = before[earlier] as number
      }
      if (later >= 0) {
        this.#list(later)
        later = after[later] as number
      }
    }
  }

  #findOccurrences({ terms }: Postings, plan: Plan): void {
    if (this.#planned.length < terms.size) this.#planned = new Uint8Array(2 * terms.size)
    const numbers = plan.terms.map(({ term }) => terms.numberOf(term))
    for (const [i, number] of numbers.entries()) {
      this.#planned[number] = i + 1
      this.#occurrences[i] = []
    }
    for (const memory of this.memories()) {
      for (let at = terms.firstOf(memory); terms.memories[at] === memory; at++) {
        const planned = this.#planned[terms.numbers[at] as number] as number
        if (planned > 0) this.#occurrences[planned - 1]?.push(at)
      }
    }
    for (const number of numbers) this.#planned[number] = 0
  }

  #list(memory: number): void {
    if (this.marks[memory] === 1) return
    this.marks[memory] = 1
    this.#listed[this.#size++] = memory
  }
}

/** How many of `visits` a term of this rarity gets. */
function worthOf(rarity: number, visits: number): number {
  return Math.ceil(Math.max(LEAST_VISITS, visits * Math.min(1, rarity / WORTHY_RARITY)))
}
