import type { CompiledQuery } from 'kysely'

/** A vector of unit length to compare with stored vectors, and the results that are needed. */
export type Comparison = {
  vector: Float32Array
  /** How many of the nearest memories are needed. */
  nearest: number
  /** Memories whose similarity is always returned. */
  given: readonly number[]
}

/** The cosine of a memory's vector, from -1 to 1. */
export type Similar = { seq: number; similarity: number }

/** The requested results, and the lowest seq among all compared memories. */
export type ComparisonResult = { similar: Similar[]; oldest: number }

/** Compares the vectors that a query of `seq` and `vector` finds. The vectors stay in the thread that reads them. */
export type Compare = (select: CompiledQuery, comparison: Comparison) => Promise<ComparisonResult>

/** Compares vectors one by one, in the thread that reads them. */
export class VectorComparison {
  readonly #comparison: Comparison
  readonly #all: Similar[] = []
  #oldest = Number.POSITIVE_INFINITY

  constructor(comparison: Comparison) {
    this.#comparison = comparison
  }

  /** `bytes` are 32-bit floats, little-endian, of unit length. */
  add(seq: number, bytes: Uint8Array): void {
    const { vector } = this.#comparison
    if (seq < this.#oldest) this.#oldest = seq
    this.#all.push({ seq, similarity: bytes.byteLength === vector.byteLength ? dot(vector, floatsOf(bytes)) : 0 })
  }

  result(): ComparisonResult {
    const { nearest, given } = this.#comparison
    const near = this.#all.toSorted((a, b) => b.similarity - a.similarity || b.seq - a.seq).slice(0, nearest)
    const [wanted, known] = [new Set(given), new Set(near.map(({ seq }) => seq))]
    const others = this.#all.filter(({ seq }) => wanted.has(seq) && !known.has(seq))
    return { similar: [...near, ...others], oldest: this.#oldest }
  }
}

/** The bytes of a stored vector. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
}

function floatsOf(bytes: Uint8Array): Float32Array {
  // A buffer from Node's pool may not be aligned for floats, so it is copied.
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes)
  return new Float32Array(buffer as ArrayBuffer, byteOffset, byteLength / 4)
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number)
  return sum
}
