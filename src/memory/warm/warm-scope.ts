import { setImmediate as nextPass } from 'node:timers/promises'
import type { WordVectors } from '../language/word-vectors.ts'
import { Postings } from '../ranking/postings.ts'
import { type KeptRow, KeptTexts } from './kept-texts.ts'
import type { CountedScope } from './scope-counts.ts'
import { FIRST_PAGE, type NewsRow, type ScopeReader } from './scope-reader.ts'

const LARGEST_PAGE = 2_000
const TERMS_IN_PAGE = 20_000
/** How many terms are indexed at once, because this happens in the main thread and must not block it for long. */
const TERMS_AT_ONCE = 4_000
/**
 * Texts in a language have fewer different words than this, but random texts have more. Each word is an entry of a map,
 * and growing a larger map would block the main thread for too long.
 */
const MOST_DIFFERENT_TERMS = 100_000
const MAX_RESTARTS = 3
/** Roughly how many bytes a short memory takes. */
const BYTES_PER_MEMORY = 200
/** The size of the entry for a scope that is too large. It only records that the scope is too large. */
const BYTES_IF_OUTGROWN = 500
const NO_ROWS = 2 ** 52

/** The memories of one generation of a scope, and some of their texts. */
export type WarmMemories = { postings: Postings; texts: KeptTexts }

/**
 * The postings of one scope, kept in memory. The store remains the source of truth: every use first reads the memories
 * after the last known one, together with the scope's counts in the same statement. The counts show whether any memory
 * is missing.
 */
export class WarmScope {
  /** Undefined while the scope has no memories, or is too large. */
  memories: WarmMemories | undefined
  readonly #reader: ScopeReader
  readonly #scope: CountedScope
  readonly #words: WordVectors | undefined
  #generation: string | undefined
  #watermark = 0
  /** How many memories the scope had when it became too large. It isn't read again until it has fewer. */
  #outgrownAt: number | undefined
  #reading: Promise<boolean> | undefined
  #next: Promise<boolean> | undefined

  constructor(reader: ScopeReader, scope: CountedScope, words: WordVectors | undefined) {
    this.#reader = reader
    this.#scope = scope
    this.#words = words
  }

  /** Roughly how many bytes of memory this takes. */
  get bytes(): number {
    if (this.#outgrownAt !== undefined) return BYTES_IF_OUTGROWN
    return this.memories ? this.memories.postings.bytes + this.memories.texts.bytes : 0
  }

  /**
   * Resolves with true when the postings contain everything that was stored before the call, or with false if they
   * would take more than `room` bytes. Callers that come during a read share the next one.
   */
  refresh(room: number): Promise<boolean> {
    if (this.#next) return this.#next
    if (!this.#reading) return this.#start(room)
    const begin = () => {
      this.#next = undefined
      return this.#start(room)
    }
    this.#next = this.#reading.then(begin, begin)
    return this.#next
  }

  #start(room: number): Promise<boolean> {
    const reading = this.#read(room).finally(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    this.#reading = reading
    return reading
  }

  async #read(room: number): Promise<boolean> {
    if (await this.#isOutgrown()) return false
    const known = { size: this.#size, seq: this.#watermark, generation: this.#generation }
    let seen = await this.#reader.readNews(this.#scope, known)
    for (let restarts = 0; restarts <= MAX_RESTARTS; ) {
      if (seen.count * BYTES_PER_MEMORY > room) return this.#outgrow(seen.count)
      if (seen.generation === this.#generation || this.#size === 0) {
        this.#generation = seen.generation
        if (!(await this.#append(seen.rows, room))) return false
        if (this.#size === seen.count) return true
        if (seen.more) {
          seen = await this.#reader.readPage(this.#scope, this.#watermark, nextPage(seen.rows))
          continue
        }
      }
      // Memories were removed or changed, so the postings are built again. A scope that keeps changing is searched with
      // the index instead.
      this.#forget(seen.generation)
      restarts += 1
      seen = await this.#reader.readPage(this.#scope, 0, FIRST_PAGE)
    }
    return false
  }

  async #isOutgrown(): Promise<boolean> {
    if (this.#outgrownAt === undefined) return false
    const known = { size: this.#outgrownAt, seq: NO_ROWS, generation: undefined }
    const { count } = await this.#reader.readNews(this.#scope, known)
    if (count >= this.#outgrownAt) return true
    this.#outgrownAt = undefined
    return false
  }

  get #size(): number {
    return this.memories?.postings.size ?? 0
  }

  /** Returns false if the scope became too large. */
  async #append(rows: readonly NewsRow[], room: number): Promise<boolean> {
    let terms = 0
    for (const row of rows) {
      terms += row.length
      if (terms > TERMS_AT_ONCE) {
        terms = row.length
        await nextPass()
      }
      this.memories ??= { postings: new Postings(this.#words), texts: new KeptTexts() }
      const { postings, texts } = this.memories
      postings.append(row)
      if (isWhole(row)) texts.add(row)
      this.#watermark = Math.max(this.#watermark, row.seq)
      if (postings.bytes > room || postings.terms.size > MOST_DIFFERENT_TERMS) return this.#outgrow(postings.size)
    }
    return true
  }

  #outgrow(size: number): false {
    this.#outgrownAt = size
    this.#forget(undefined)
    return false
  }

  #forget(generation: string | undefined): void {
    this.memories = undefined
    this.#generation = generation
    this.#watermark = 0
  }
}

function isWhole(row: NewsRow): row is NewsRow & KeptRow {
  return typeof row.content === 'string'
}

function nextPage(rows: readonly NewsRow[]): number {
  if (rows.length === 0) return FIRST_PAGE
  const terms = rows.reduce((sum, { length }) => sum + length, 0)
  return Math.min(LARGEST_PAGE, Math.max(1, Math.floor((rows.length * TERMS_IN_PAGE) / Math.max(1, terms))))
}
