import { grown } from './grown.ts'

const NONE = -1
const FIRST_SIZE = 16

/** Shorter words are never treated as compounds. */
const SHORTEST_COMPOUND = 9
/** Only this many of the newest long words are searched for compounds. */
const SEARCHED_FOR_COMPOUNDS = 20_000
const MAX_COMPOUNDS = 16
/** The rest of a compound has at least this many letters. */
const SHORTEST_REST = 3
/**
 * The longest ending after the last part of a compound. The part itself may have lost an ending: `försäkring` is
 * searched as `forsakr`.
 */
const LONGEST_ENDING = 5

/** The bytes that a term takes, including its entry in a map. */
const BYTES_BY_TERM = 80
const BYTES_BY_OCCURRENCE = 14
const BYTES_BY_MEMORY = 4

/**
 * Which memories contain a term and how often. Each term has a linked list of occurrences, newest first, in flat
 * arrays. The occurrences of one memory are next to each other, so the terms of a memory can be found too.
 */
export class TermLists {
  /**
   * Indexed by occurrence: the memory, the number of the term, how often the memory contains it, and the next older
   * occurrence of the same term, or -1.
   */
  memories = new Int32Array(FIRST_SIZE).fill(NONE)
  numbers = new Int32Array(FIRST_SIZE)
  frequencies = new Uint16Array(FIRST_SIZE)
  older = new Int32Array(FIRST_SIZE)
  #occurrences = 0
  /** For each memory, its first occurrence. */
  #first = new Int32Array(FIRST_SIZE)

  /** For each term, its newest occurrence and how many memories contain it. */
  #numbers = new Map<string, number>()
  #newest = new Int32Array(FIRST_SIZE)
  #turns = new Int32Array(FIRST_SIZE)
  #notes = new Int32Array(FIRST_SIZE)
  readonly #long: string[] = []

  /** Roughly how many bytes of memory this takes. */
  get bytes(): number {
    const byMemory = this.#first.length * BYTES_BY_MEMORY
    return byMemory + this.#newest.length * BYTES_BY_TERM + this.memories.length * BYTES_BY_OCCURRENCE
  }

  /** Call this before the terms of a memory are added. */
  begin(memory: number): void {
    if (memory === this.#first.length) this.#first = grown(this.#first)
    this.#first[memory] = this.#occurrences
  }

  /** Adds a term to the memory for which `begin` was last called. */
  add(term: string, memory: number, isNote: boolean): void {
    const number = this.#number(term)
    const newest = this.#newest[number] as number
    if (newest !== NONE && this.memories[newest] === memory) {
      this.frequencies[newest] = (this.frequencies[newest] as number) + 1
      return
    }
    if (this.#occurrences === this.memories.length) {
      this.memories = grown(this.memories).fill(NONE, this.#occurrences)
      this.numbers = grown(this.numbers)
      this.frequencies = grown(this.frequencies)
      this.older = grown(this.older)
    }
    const occurrence = this.#occurrences++
    this.memories[occurrence] = memory
    this.numbers[occurrence] = number
    this.frequencies[occurrence] = 1
    this.older[occurrence] = newest
    this.#newest[number] = occurrence
    const having = isNote ? this.#notes : this.#turns
    having[number] = (having[number] as number) + 1
  }

  /** The newest occurrence of a term, or -1. */
  newest(term: string): number {
    const number = this.#numbers.get(term)
    return number === undefined ? NONE : (this.#newest[number] as number)
  }

  /** The number of a term in `numbers`, or -1 if no memory has it. */
  numberOf(term: string): number {
    return this.#numbers.get(term) ?? NONE
  }

  /** How many different terms there are. */
  get size(): number {
    return this.#numbers.size
  }

  /** The first occurrence of a memory. Its other occurrences follow, as long as `memories` contains this memory. */
  firstOf(memory: number): number {
    return this.#first[memory] as number
  }

  turnsHaving(term: string): number {
    return this.#turns[this.#numbers.get(term) ?? NONE] ?? 0
  }

  notesHaving(term: string): number {
    return this.#notes[this.#numbers.get(term) ?? NONE] ?? 0
  }

  /**
   * Longer terms that start or end with this one: `versicherungsnummer` and `haftpflichtversicherungen` for
   * `versicherung`. The shortest come first.
   */
  compoundsOf(part: string): string[] {
    const found = this.#long.slice(-SEARCHED_FOR_COMPOUNDS).filter((term) => isCompound(term, part))
    return found.toSorted((a, b) => a.length - b.length).slice(0, MAX_COMPOUNDS)
  }

  #number(term: string): number {
    const known = this.#numbers.get(term)
    if (known !== undefined) return known
    if (term.length >= SHORTEST_COMPOUND) this.#long.push(term)
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

function isCompound(term: string, part: string): boolean {
  if (term.length < part.length + SHORTEST_REST) return false
  if (term.startsWith(part)) return true
  const at = term.lastIndexOf(part)
  return at >= SHORTEST_REST && term.length - at - part.length <= LONGEST_ENDING
}
