import { readFileSync } from 'node:fs'
import { firstFound } from '../../lib/lazily.ts'

const FILE = new URL('word-vectors.bin', import.meta.url)
const HEADER_BYTES = 8

/**
 * The meanings of English words as small vectors. Words that are used alike have similar vectors.
 * `scripts/word-vectors.mjs` makes the file: the number of terms, the numbers per vector (32-bit, little-endian), the
 * numbers, then one term per line.
 */
export class WordVectors {
  readonly dimensions: number
  readonly #positions: ReadonlyMap<string, number>
  readonly #values: Int8Array

  constructor(bytes: Buffer) {
    const count = bytes.readUInt32LE(0)
    this.dimensions = bytes.readUInt32LE(4)
    const end = HEADER_BYTES + count * this.dimensions
    this.#values = new Int8Array(bytes.subarray(HEADER_BYTES, end))
    const terms = bytes.toString('utf8', end).split('\n')
    this.#positions = new Map(terms.map((term, position) => [term, position]))
  }

  /** Reads the vectors once, when they are first needed. */
  static readonly read = firstFound(() => new WordVectors(readFileSync(FILE)))

  /** Adds the vectors of the terms to `sum`. Unknown terms are skipped. */
  add(terms: readonly string[], sum: Float64Array): void {
    for (const term of terms) {
      const position = this.#positions.get(term)
      if (position === undefined) continue
      const start = position * this.dimensions
      for (let i = 0; i < this.dimensions; i++) sum[i] = (sum[i] as number) + (this.#values[start + i] as number)
    }
  }
}
