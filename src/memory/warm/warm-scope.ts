import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import { Postings, type Row } from '../ranking/postings.ts'
import type { WordVectors } from '../ranking/word-vectors.ts'
import { within } from '../within.ts'
import type { CountedScope } from './scope-counts.ts'

/** So many rows come at once: they are indexed by the thread that answers HTTP, which must not be held up. */
const PAGE_SIZE = 2_000
/** PostgreSQL's nodes may commit out of the order of `seq`: what appears late was numbered a moment ago. */
const LOOK_BACK = 2_000
const MAX_RESTARTS = 3

/** What one statement saw: the rows after a watermark, and how many the scope has in all. */
type Seen = { generation: string | undefined; count: number; rows: Row[] }

/**
 * The postings of one scope, held in memory. The store remains the truth: every use first reads what came after the last
 * memory known, and the scope's counts, seen by the same statement, tell whether that is all.
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
   * Resolves when the postings hold all that was stored before the call: true, or false when the scope has more than
   * `most` memories. Callers that come while one reading is under way share the next.
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
    let from = this.#watermark
    for (;;) {
      const { generation, count, rows } = await look(db, this.#scope, from)
      if (count > most) {
        this.#forget(undefined)
        return false
      }
      const isCurrent = generation === this.#generation || this.postings.size === 0
      if (isCurrent) {
        this.#generation = generation
        this.#append(rows)
        if (this.postings.size === count) return true
        from = this.#watermark
        if (rows.length === PAGE_SIZE) continue
        if (await this.#lookBack(db, count)) return true
      }
      // Something was removed or changed, or there is a gap: begin anew. A store that changes all the time is searched by its index.
      this.#forget(generation)
      from = 0
      restarts += 1
      if (restarts > MAX_RESTARTS) return false
    }
  }

  async #lookBack(db: Database, count: number): Promise<boolean> {
    const { generation, count: now, rows } = await look(db, this.#scope, Math.max(0, this.#watermark - LOOK_BACK))
    if (generation !== this.#generation) return false
    const known = new Set(this.postings.seqs.subarray(Math.max(0, this.postings.size - LOOK_BACK), this.postings.size))
    this.#append(rows.filter(({ seq }) => !known.has(seq)))
    return this.postings.size >= count && this.postings.size === now
  }

  #append(rows: readonly Row[]): void {
    for (const row of rows) {
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

/** In one statement, so that rows and counts are of the same moment. */
async function look(db: Database, scope: CountedScope, after: number): Promise<Seen> {
  const { rows } = await sql<Row>`
    select * from (
      select seq, kind, role, user_id, session_id, created_at, terms, length from memories
      where ${within(scope)} and seq > ${after} order by seq limit ${sql.lit(PAGE_SIZE)}) as later
    union all
    select 0, generation, null, '', '', turns + notes, '', 0 from memory_scopes
    where agent_seq = ${scope.agent_seq} and level = ${scope.level}
      and user_id = ${scope.user_id ?? ''} and session_id = ${scope.session_id ?? ''}`.execute(db)
  const counts = rows.find(({ seq }) => seq === 0)
  return { generation: counts?.kind, count: counts?.created_at ?? 0, rows: rows.filter(({ seq }) => seq > 0) }
}
