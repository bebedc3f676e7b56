import { grown } from './grown.ts'

const NONE = -1
const FIRST_SIZE = 16

/** The size of a term, with its entry in a map. */
const BYTES_BY_TERM = 80
const BYTES_BY_PLACE = 10

/**
 * Which memories have a term and how often. Each term has a linked list of occurrences, newest first, in flat arrays.
 */
export class TermLists {
  /**
   * Indexed by occurrence: the memory, how often it has the term, and the next older occurrence of the same term, or
   * -1.
   */
  memories = new Int32Array(FIRST_SIZE)
  frequencies = new Uint16Array(FIRST_SIZE)
  older = new Int32Array(FIRST_SIZE)
  #places = 0

  /** Indexed by term: its newest occurrence, and how many memories have it. */
  #numbers = new Map<string, number>()
  #newest = new Int32Array(FIRST_SIZE)
  #turns = new Int32Array(FIRST_SIZE)
  #notes = new Int32Array(FIRST_SIZE)

  /** About how much memory this takes. */
  get bytes(): number {
    return this.#newest.length * BYTES_BY_TERM + this.memories.length * BYTES_BY_PLACE
  }

  /** All terms of one memory must be added before those of the next. */
  add(term: string, memory: number, isNote: boolean): void {
    const number = this.#numberOf(term)
    const newest = this.#newest[number] as number
    if (newest !== NONE && this.memories[newest] === memory) {
      this.frequencies[newest] = (this.frequencies[newest] as number) + 1
      return
    }
    if (this.#places === this.memories.length) {
      this.memories = grown(this.memories)
      this.frequencies = grown(this.frequencies)
      this.older = grown(this.older)
    }
    const place = this.#places++
    this.memories[place] = memory
    this.frequencies[place] = 1
    this.older[place] = newest
    this.#newest[number] = place
    const having = isNote ? this.#notes : this.#turns
    having[number] = (having[number] as number) + 1
  }

  /** The newest occurrence of a term, or -1. */
  newest(term: string): number {
    const number = this.#numbers.get(term)
    return number === undefined ? NONE : (this.#newest[number] as number)
  }

  turnsHaving(term: string): number {
    return this.#turns[this.#numbers.get(term) ?? NONE] ?? 0
  }

  notesHaving(term: string): number {
    return this.#notes[this.#numbers.get(term) ?? NONE] ?? 0
  }

  #numberOf(term: string): number {
    const known = this.#numbers.get(term)
    if (known !== undefined) return known
    const number = this.#numbers.size
    if (number === this.#newest.length) {
      this.#newest = grown(this.#newest)
      this.#turns = grown(this.#turns)
      this.#notes = grown(this.#notes)
    }
    this.#numbers.set(term, number)
    this.#newest[number] = NONE
    return number
  }
}
