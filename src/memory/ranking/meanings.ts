import type { WordVectors } from '../language/word-vectors.ts'
import { grown } from './grown.ts'
import { LEAK_AFTER, LEAK_BEFORE, LEAK_DECAY, REACH } from './weights.ts'

const UNKNOWN = -1
const LARGEST_BYTE = 127

/** The turns right before and after each, or -1. */
type Neighbours = { before: Int32Array; after: Int32Array }

/**
 * What memories mean: the sum of their words' vectors, scaled to bytes. A turn also means what is said around it, in the
 * shares in which words leak; sums of vectors and their products can be taken in any order, so those of the neighbours
 * are added when a query is compared.
 */
export class Meanings {
  readonly #words: WordVectors
  #size = 0
  #values: Int8Array
  #scales = new Float64Array(1)
  /** How long the vector of a memory is, its neighbours' added; -1 if that must be worked out. */
  #lengths = new Float64Array(1)
  #products = new Float64Array(1)
  readonly #sum: Int32Array

  constructor(words: WordVectors) {
    this.#words = words
    this.#values = new Int8Array(words.dimensions)
    this.#sum = new Int32Array(words.dimensions)
  }

  get bytes(): number {
    return this.#values.byteLength + 3 * this.#scales.byteLength
  }

  append(terms: readonly string[]): void {
    const memory = this.#size++
    if (memory === this.#scales.length) this.#grow()
    const { dimensions } = this.#words
    this.#scales[memory] = this.#read(terms)
    this.#values.set(this.#sum, memory * dimensions)
    this.#lengths[memory] = UNKNOWN
  }

  /** A memory has a new neighbour within reach. */
  touch(memory: number): void {
    this.#lengths[memory] = UNKNOWN
  }

  /** The cosine of each memory to the terms, into `cosines`; false if the terms mean nothing. */
  compare(terms: readonly string[], neighbours: Neighbours, cosines: Float64Array): boolean {
    if (this.#read(terms) === 0) return false
    const length = Math.hypot(...this.#sum)
    this.#multiply()
    for (let memory = 0; memory < this.#size; memory++) {
      const product = this.#withNeighbours(memory, neighbours)
      cosines[memory] = product === 0 ? 0 : product / (length * this.#lengthOf(memory, neighbours))
    }
    return true
  }

  /** The vector of the terms into `#sum`, scaled to bytes; the scale, 0 if the terms mean nothing. */
  #read(terms: readonly string[]): number {
    this.#sum.fill(0)
    this.#words.add(terms, this.#sum)
    let largest = 0
    for (const value of this.#sum) largest = Math.max(largest, Math.abs(value))
    if (largest === 0) return 0
    const scale = largest / LARGEST_BYTE
    for (const [i, value] of this.#sum.entries()) this.#sum[i] = Math.round(value / scale)
    return scale
  }

  /** The product of `#sum` with each memory, in whole numbers: that takes a fifth of the time. */
  #multiply(): void {
    const { dimensions } = this.#words
    const [values, query] = [this.#values, this.#sum]
    for (let memory = 0, at = 0; memory < this.#size; memory++) {
      let product = 0
      for (let i = 0; i < dimensions; i++)
        product = (product + Math.imul(query[i] as number, values[at++] as number)) | 0
      this.#products[memory] = product * (this.#scales[memory] as number)
    }
  }

  #withNeighbours(memory: number, { before, after }: Neighbours): number {
    let sum = this.#products[memory] as number
    let share = 1
    let [earlier, later] = [before[memory] as number, after[memory] as number]
    for (let distance = 1; distance <= REACH; distance++) {
      if (earlier >= 0) {
        sum += LEAK_AFTER * share * (this.#products[earlier] as number)
        earlier = before[earlier] as number
      }
      if (later >= 0) {
        sum += LEAK_BEFORE * share * (this.#products[later] as number)
        later = after[later] as number
      }
      share *= LEAK_DECAY
    }
    return sum
  }

  #lengthOf(memory: number, neighbours: Neighbours): number {
    const known = this.#lengths[memory] as number
    if (known !== UNKNOWN) return known
    const vector = new Float64Array(this.#words.dimensions)
    this.#addScaled(vector, memory, 1)
    for (const [next, most] of [
      [neighbours.before, LEAK_AFTER],
      [neighbours.after, LEAK_BEFORE],
    ] as const) {
      let share = most
      let neighbour = next[memory] as number
      for (let distance = 1; distance <= REACH && neighbour >= 0; distance++) {
        this.#addScaled(vector, neighbour, share)
        share *= LEAK_DECAY
        neighbour = next[neighbour] as number
      }
    }
    const length = Math.hypot(...vector)
    this.#lengths[memory] = length
    return length
  }

  #addScaled(vector: Float64Array, memory: number, share: number): void {
    const factor = share * (this.#scales[memory] as number)
    const start = memory * vector.length
    for (let i = 0; i < vector.length; i++) {
      vector[i] = (vector[i] as number) + factor * (this.#values[start + i] as number)
    }
  }

  #grow(): void {
    this.#values = grown(this.#values)
    this.#scales = grown(this.#scales)
    this.#lengths = grown(this.#lengths)
    this.#products = grown(this.#products)
  }
}
