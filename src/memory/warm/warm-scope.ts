import type { WordVectors } from '../language/word-vectors.ts'
import { type PostingRow, Postings } from '../ranking/postings.ts'
import type { CountedScope } from './scope-counts.ts'
import { FIRST_PAGE, type ScopeReader, type SeenScope } from './scope-reader.ts'

const LARGEST_PAGE = 2_000
/** The main thread indexes the rows and must not be blocked for long. */
const TERMS_AT_ONCE = 20_000
/** PostgreSQL nodes may commit out of the order of `seq`. Rows that appear late have a seq from shortly before. */
const LOOK_BACK = 2_000
const MAX_RESTARTS = 3

/**
 * The postings of one scope, kept in memory. The store remains the truth. Every use first reads the memories after the
 * last known one, together with the scope's counts in the same statement. The counts tell whether any memory is
 * missing.
 */
export class WarmScope {
  /** Undefined as long as the scope has no memory. */
  postings: Postings | undefined
  readonly #reader: ScopeReader
  readonly #scope: CountedScope
  readonly #words: WordVectors | undefined
  #generation: string | undefined
  #watermark = 0
  #reading: Promise<boolean> | undefined
  #next: Promise<boolean> | undefined

  constructor(reader: ScopeReader, scope: CountedScope, words: WordVectors | undefined) {
    this.#reader = reader
    this.#scope = scope
    this.#words = words
  }

  /**
   * Resolves when the postings have everything that was stored before the call: with true, or with false when the scope
   * has more than `most` memories. Callers that come during a reading share the next one.
   */
  refresh(most: number): Promise<boolean> {
    if (this.#next) return this.#next
    if (!this.#reading) return this.#start(most)
    const begin = () => {
      this.#next = undefined
      return this.#start(most)
    }
    this.#next = this.#reading.then(begin, begin)
    return this.#next
  }

  #start(most: number): Promise<boolean> {
    const reading = this.#read(most).finally(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    this.#reading = reading
    return reading
  }

  async #read(most: number): Promise<boolean> {
    const known = { size: this.#size, seq: this.#watermark, generation: this.#generation }
    let seen = await this.#reader.readNews(this.#scope, known)
    for (let restarts = 0; restarts <= MAX_RESTARTS; ) {
      if (seen.count > most) {
        this.#forget(undefined)
        return false
      }
      if (seen.generation === this.#generation || this.#size === 0) {
        this.#generation = seen.generation
        await this.#append(seen.rows)
        if (this.#size === seen.count) return true
        if (seen.more) {
          seen = await this.#reader.readPage(this.#scope, this.#watermark, nextPage(seen.rows))
          continue
        }
        if (await this.#lookBack(seen)) return true
      }
      // Memories were removed or changed, or some are missing, so the postings are built again. A scope that changes
      // all the time is searched by the index.
      this.#forget(seen.generation)
      restarts += 1
      seen = await this.#reader.readPage(this.#scope, 0, FIRST_PAGE)
    }
    return false
  }

  async #lookBack({ count }: SeenScope): Promise<boolean> {
    const from = Math.max(0, this.#watermark - LOOK_BACK)
    const { generation, count: now, rows } = await this.#reader.readPage(this.#scope, from, LOOK_BACK)
    if (generation !== this.#generation) return false
    const size = this.#size
    const known = new Set(this.postings?.seqs.subarray(Math.max(0, size - LOOK_BACK), size))
    await this.#append(rows.filter(({ seq }) => !known.has(seq)))
    return this.#size >= count && this.#size === now
  }

  get #size(): number {
    return this.postings?.size ?? 0
  }

  async #append(rows: readonly PostingRow[]): Promise<void> {
    let terms = 0
    for (const row of rows) {
      terms += row.length
      if (terms > TERMS_AT_ONCE) {
        terms = row.length
        await new Promise((resolve) => setImmediate(resolve))
      }
      this.postings ??= new Postings(this.#words)
      this.postings.append(row)
      this.#watermark = Math.max(this.#watermark, row.seq)
    }
  }

  #forget(generation: string | undefined): void {
    this.postings = undefined
    this.#generation = generation
    this.#watermark = 0
  }
}

function nextPage(rows: readonly PostingRow[]): number {
  if (rows.length === 0) return FIRST_PAGE
  const terms = rows.reduce((sum, { length }) => sum + length, 0)
  return Math.min(LARGEST_PAGE, Math.max(1, Math.floor((rows.length * TERMS_AT_ONCE) / Math.max(1, terms))))
}
