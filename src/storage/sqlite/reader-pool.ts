import { availableParallelism } from 'node:os'
import type { QueryResult } from 'kysely'
import { ReadersBusyError, ReadTimeoutError } from '../read-limits.ts'
import { type PendingRead, Reader } from './reader.ts'
import type { SqliteStatement } from './sqlite-messages.ts'
import type { SqliteWatcher } from './sqlite-thread.ts'

/** A read that runs this long is slow. Reads that wait behind it move to another thread. */
const SLOW_MS = 25
const MOST_READERS = 4
/** How many slow statements are remembered. The oldest are forgotten first. */
const SLOW_STATEMENTS = 200

type PoolOptions = SqliteWatcher & {
  path: string
  /** How long one read can take. */
  readTimeout: number
}

/**
 * The threads that read. The first thread serves all reads until a slow one blocks it. Other threads start when they
 * are needed. A read goes to the thread with the least work, and never has to wait for a slow one. Statements that were
 * slow the last time leave one thread to the others. If a read turns out to be slow, the reads behind it move to
 * another thread.
 */
export class ReaderPool {
  readonly #options: PoolOptions
  readonly #most = Math.max(2, Math.min(MOST_READERS, availableParallelism()))
  readonly #readers: Reader[] = []
  /** Threads whose read took too long. They end when SQLite returns from it. */
  readonly #ending = new Set<Promise<void>>()
  readonly #slowStatements = new Set<string>()
  /** Slow reads that wait for a thread. */
  readonly #lane: PendingRead[] = []
  #slowUnderWay = 0
  #watch: NodeJS.Timeout | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#start()
  }

  run<R>(statement: SqliteStatement): Promise<QueryResult<R>> {
    return new Promise((resolve, reject) => {
      this.#enter({ statement, asked_at: performance.now(), slow: false, resolve, reject })
      // One timer serves all reads in progress.
      this.#watch ??= setTimeout(() => this.#afterMessages(), SLOW_MS).unref()
    })
  }

  /** The waiting reads are those behind another read and those in the lane of slow reads. */
  state(): { busy: number; idle: number; waiting: number } {
    const busy = this.#readers.filter(({ load }) => load > 0).length
    const reads = this.#readers.reduce((sum, { load }) => sum + load, this.#lane.length)
    return { busy, idle: this.#readers.length - busy, waiting: reads - busy }
  }

  async close(): Promise<void> {
    for (const { reject } of this.#lane.splice(0)) reject(new Error('the database is closed'))
    await Promise.all([...this.#readers.map(({ thread }) => thread.close()), ...this.#ending])
  }

  #enter(read: PendingRead): void {
    if (this.#mayBegin(read)) this.#begin(read)
    else this.#lane.push(read)
  }

  /** Whether a read may begin. One thread is always reserved for reads that aren't slow. */
  #mayBegin({ statement }: PendingRead): boolean {
    return this.#slowUnderWay < this.#most - 1 || !this.#slowStatements.has(statement.sql)
  }

  #begin(read: PendingRead): void {
    if (this.#slowStatements.has(read.statement.sql)) this.#markSlow(read)
    this.#leastBusy().take(read)
  }

  #leastBusy(): Reader {
    let free: Reader | undefined
    for (const reader of this.#readers) if (!reader.isHeldUp && (!free || reader.load < free.load)) free = reader
    if (free) return free
    if (this.#readers.length < this.#most) return this.#start()
    return this.#readers.reduce((a, b) => (b.load < a.load ? b : a))
  }

  #start(): Reader {
    const reader = new Reader({ ...this.#options, onEnded: (read, ranMs) => this.#ended(read, ranMs) })
    this.#readers.push(reader)
    return reader
  }

  #markSlow(read: PendingRead): void {
    if (read.slow) return
    read.slow = true
    this.#slowUnderWay += 1
  }

  #notSlow(read: PendingRead): void {
    if (!read.slow) return
    read.slow = false
    this.#slowUnderWay -= 1
  }

  #ended(read: PendingRead, ranMs: number): void {
    if (!read.slow) return
    this.#notSlow(read)
    if (ranMs < SLOW_MS) this.#slowStatements.delete(read.statement.sql)
    for (let next = this.#lane[0]; next && this.#mayBegin(next); next = this.#lane[0]) {
      this.#lane.shift()
      this.#begin(next)
    }
  }

  /** Handles replies that have already arrived before it treats a read as slow. */
  #afterMessages(): void {
    setImmediate(() => this.#look())
  }

  #look(): void {
    const now = performance.now()
    for (const reader of this.#readers.slice()) {
      const { first } = reader
      if (!first || reader.ranMs(now) < SLOW_MS) continue
      reader.isHeldUp = true
      this.#rememberSlow(first.statement.sql)
      this.#markSlow(first)
      if (reader.ranMs(now) >= this.#options.readTimeout) this.#giveUp(reader, first)
      const hasElsewhere = this.#readers.length < this.#most || this.#readers.some(({ isHeldUp }) => !isHeldUp)
      if (reader.load > 1 && hasElsewhere) this.#moveAll(reader)
    }
    this.#refuseWaiting(now)
    if (this.#lane.length > 0 || this.#readers.some(({ load }) => load > 0)) this.#watch?.refresh()
    else this.#watch = undefined
  }

  #rememberSlow(sql: string): void {
    if (this.#slowStatements.size >= SLOW_STATEMENTS) {
      this.#slowStatements.delete(this.#slowStatements.values().next().value as string)
    }
    this.#slowStatements.add(sql)
  }

  /**
   * Gives up a read. Nothing can interrupt a SQLite statement, so the caller gets a timeout, and a new thread replaces
   * this one. If too many such threads haven't ended yet, this thread stays instead.
   */
  #giveUp(reader: Reader, read: PendingRead): void {
    read.reject(new ReadTimeoutError(this.#options.readTimeout))
    if (this.#ending.size >= this.#most) return
    this.#readers.splice(this.#readers.indexOf(reader), 1)
    this.#moveAll(reader)
    const ending = reader.thread.terminate().finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
    this.#ended(read, Number.POSITIVE_INFINITY)
  }

  /** Moves the reads that haven't begun to other threads. */
  #moveAll(from: Reader): void {
    for (const read of from.takeBack()) {
      this.#notSlow(read)
      this.#enter(read)
    }
  }

  #refuseWaiting(now: number): void {
    while (this.#lane[0] && now - this.#lane[0].asked_at >= this.#options.readTimeout) {
      this.#lane.shift()?.reject(new ReadersBusyError())
    }
  }
}
