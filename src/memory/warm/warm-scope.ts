import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import type { WordVectors } from '../language/word-vectors.ts'
import { inMemoryScope } from '../memory-filter.ts'
import { type PostingRow, Postings } from '../ranking/postings.ts'
import type { CountedScope } from './scope-counts.ts'

/**
 * The main thread reads and indexes rows and must not be blocked for long, so the first page is small: its rows may be
 * long.
 */
const FIRST_PAGE = 200
const LARGEST_PAGE = 2_000
const TERMS_AT_ONCE = 20_000
/** PostgreSQL nodes may commit out of the order of `seq`. Rows that appear late have a seq from shortly before. */
const LOOK_BACK = 2_000
const MAX_RESTARTS = 3

/** The result of one statement: the rows after a seq, and how many memories the scope has in all. */
type Seen = { generation: string | undefined; count: number; rows: PostingRow[] }

/**
 * The postings of one scope, kept in memory. The store remains the truth. Every use first reads the memories after the
 * last known one, together with the scope's counts in the same statement. The counts tell whether any memory is
 * missing.
 */
export class WarmScope {
  postings: Postings
  readonly #scope: CountedScope
  readonly #words: WordVectors | undefined
  #generation: string | undefined
  #watermark = 0
  #reading: Promise<boolean> | undefined
  #next: Promise<boolean> | undefined

  constructor(scope: CountedScope, words: WordVectors | undefined) {
    this.#scope = scope
    this.#words = words
    this.postings = new Postings(words)
  }

  /**
   * Resolves when the postings have everything that was stored before the call: with true, or with false when the scope
   * has more than `most` memories. Callers that come during a reading share the next one.
   */
  refresh(db: Database, most: number): Promise<boolean> {
    if (this.#next) return this.#next
    if (!this.#reading) return this.#start(db, most)
    const begin = () => {
      this.#next = undefined
      return this.#start(db, most)
    }
    this.#next = this.#reading.then(begin, begin)
    return this.#next
  }

  #start(db: Database, most: number): Promise<boolean> {
    const reading = this.#read(db, most).finally(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    this.#reading = reading
    return reading
  }

  async #read(db: Database, most: number): Promise<boolean> {
    let restarts = 0
    let page = FIRST_PAGE
    for (;;) {
      const { generation, count, rows } = await look(db, this.#scope, this.#watermark, page)
      if (count > most) {
        this.#forget(undefined)
        return false
      }
      const isCurrent = generation === this.#generation || this.postings.size === 0
      if (isCurrent) {
        this.#generation = generation
        await this.#append(rows)
        if (this.postings.size === count) return true
        if (rows.length === page) {
          page = nextPage(rows)
          continue
        }
        if (await this.#lookBack(db, count)) return true
      }
      // Memories were removed or changed, or some are missing, so the postings are built again. A scope that changes
      // all the time is searched by the index.
      this.#forget(generation)
      restarts += 1
      if (restarts > MAX_RESTARTS) return false
    }
  }

  async #lookBack(db: Database, count: number): Promise<boolean> {
    const from = Math.max(0, this.#watermark - LOOK_BACK)
    const { generation, count: now, rows } = await look(db, this.#scope, from, LOOK_BACK)
    if (generation !== this.#generation) return false
    const known = new Set(this.postings.seqs.subarray(Math.max(0, this.postings.size - LOOK_BACK), this.postings.size))
    await this.#append(rows.filter(({ seq }) => !known.has(seq)))
    return this.postings.size >= count && this.postings.size === now
  }

  async #append(rows: readonly PostingRow[]): Promise<void> {
    let terms = 0
    for (const row of rows) {
      terms += row.length
      if (terms > TERMS_AT_ONCE) {
        terms = row.length
        await new Promise((resolve) => setImmediate(resolve))
      }
      this.postings.append(row)
      this.#watermark = Math.max(this.#watermark, row.seq)
    }
  }

  #forget(generation: string | undefined): void {
    this.postings = new Postings(this.#words)
    this.#generation = generation
    this.#watermark = 0
  }
}

function nextPage(rows: readonly PostingRow[]): number {
  const terms = rows.reduce((sum, { length }) => sum + length, 0)
  return Math.min(LARGEST_PAGE, Math.max(1, Math.floor((rows.length * TERMS_AT_ONCE) / Math.max(1, terms))))
}

/** One statement, so that rows and counts are of the same moment. */
async function look(db: Database, scope: CountedScope, after: number, limit: number): Promise<Seen> {
  const { rows } = await sql<PostingRow>`
    select * from (
      select seq, kind, role, user_id, session_id, created_at, terms, length from memories
      where ${inMemoryScope(scope)} and seq > ${after} order by seq limit ${limit}) as later
    union all
    select 0, generation, null, '', '', turns + notes, '', 0 from memory_scopes
    where agent_seq = ${scope.agent_seq} and level = ${scope.level}
      and user_id = ${scope.user_id ?? ''} and session_id = ${scope.session_id ?? ''}`.execute(db)
  const counts = rows.find(({ seq }) => seq === 0)
  return { generation: counts?.kind, count: counts?.created_at ?? 0, rows: rows.filter(({ seq }) => seq > 0) }
}
