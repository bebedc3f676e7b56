import type { WordVectors } from '../language/word-vectors.ts'
import { grown } from './grown.ts'
import { LEAK_AFTER, LEAK_BEFORE, LEAK_DECAY, REACH } from './weights.ts'

const LARGEST_BYTE = 127
/** Marks a length that must still be computed. */
const UNKNOWN = -1

/** The turns directly before and after each memory, or -1. */
type Neighbours = { before: Int32Array; after: Int32Array }

/**
 * The meanings of memories, as vectors of bytes. A memory's own vector is the sum of its words' vectors. Its whole
 * vector also contains shares of the turns around it, in the same proportions as in the score for words.
 */
export class Meanings {
  readonly #words: WordVectors
  #size = 0
  #own: Int8Array
  /** The value of one unit of a byte in `#own`. */
  #scales = new Float64Array(1)
  #whole: Int8Array
  /** The lengths of the whole vectors. -1 if a memory is new or has new neighbours. */
  #lengths = new Float64Array(1)
  readonly #sum: Float64Array

  constructor(words: WordVectors) {
    this.#words = words
    this.#own = new Int8Array(words.dimensions)
    this.#whole = new Int8Array(words.dimensions)
    this.#sum = new Float64Array(words.dimensions)
  }

  get bytes(): number {
    return 2 * (this.#own.byteLength + this.#scales.byteLength)
  }

  append(terms: readonly string[]): void {
    const memory = this.#size++
    if (memory === this.#scales.length) {
      this.#own = grown(this.#own)
      this.#scales = grown(this.#scales)
      this.#whole = grown(this.#whole)
      this.#lengths = grown(this.#lengths)
    }
    this.#sum.fill(0)
    this.#words.add(terms, this.#sum)
    this.#scales[memory] = this.#store(this.#own, memory)
    this.#lengths[memory] = UNKNOWN
  }

  /** Call this when a memory has a new neighbour. */
  touch(memory: number): void {
    this.#lengths[memory] = UNKNOWN
  }

  /**
   * Writes the cosine between each memory and the terms into `cosines`. Returns false if the terms have no known
   * meaning.
   */
  compare(terms: readonly string[], neighbours: Neighbours, cosines: Float64Array): boolean {
    for (let memory = 0; memory < this.#size; memory++) {
      if (this.#lengths[memory] === UNKNOWN) this.#addNeighbours(memory, neighbours)
    }
    this.#sum.fill(0)
    this.#words.add(terms, this.#sum)
    const query = new Int8Array(this.#sum.length)
    if (this.#store(query, 0) === 0) return false
    this.#multiply(query, cosines)
    const length = Math.hypot(...query)
    for (let memory = 0; memory < this.#size; memory++) {
      const product = cosines[memory] as number
      if (product !== 0) cosines[memory] = product / (length * (this.#lengths[memory] as number))
    }
    return true
  }

  /** Multiplies whole numbers, which takes a fifth of the time that floats take. */
  #multiply(query: Int8Array, products: Float64Array): void {
    const [whole, dimensions] = [this.#whole, query.length]
    for (let memory = 0, at = 0; memory < this.#size; memory++) {
      let product = 0
      for (let i = 0; i < dimensions; i++)
        product = (product + Math.imul(query[i] as number, whole[at++] as number)) | 0
      products[memory] = product
    }
  }

  #addNeighbours(memory: number, { before, after }: Neighbours): void {
    this.#sum.fill(0)
    this.#add(memory, 1)
    let share = 1
    let [earlier, later] = [before[memory] as number, after[memory] as number]
    for (let distance = 1; distance <= REACH; distance++) {
      if (earlier >= 0) {
        this.#add(earlier, LEAK_AFTER * share)
        earlier = before[earlier] as number
      }
      if (later >= 0) {
        this.#add(later, LEAK_BEFORE * share)
        later = after[later] as number
      }
      share *= LEAK_DECAY
    }
    this.#store(this.#whole, memory)
    const start = memory * this.#sum.length
    this.#lengths[memory] = Math.hypot(...this.#whole.subarray(start, start + this.#sum.length))
  }

  #add(memory: number, share: number): void {
    const factor = share * (this.#scales[memory] as number)
    const start = memory * this.#sum.length
    for (let i = 0; i < this.#sum.length; i++) {
      this.#sum[i] = (this.#sum[i] as number) + factor * (this.#own[start + i] as number)
    }
  }

  /** Writes `#sum` as bytes. Returns the value of one unit, or 0 if the sum is zero. */
  #store(bytes: Int8Array, memory: number): number {
    let largest = 0
    for (const value of this.#sum) largest = Math.max(largest, Math.abs(value))
    const scale = largest / LARGEST_BYTE
    const start = memory * this.#sum.length
    for (let i = 0; i < this.#sum.length; i++) {
      bytes[start + i] = scale === 0 ? 0 : Math.round((this.#sum[i] as number) / scale)
    }
    return scale
  }
}
