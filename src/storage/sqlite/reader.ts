import type { QueryResult } from 'kysely'
import type { SqliteStatement } from './sqlite-messages.ts'
import { type Caller, SqliteThread, type SqliteWatcher } from './sqlite-thread.ts'

/** A read that a caller waits for. */
export type PendingRead = {
  statement: SqliteStatement
  /** When it was requested. */
  asked_at: number
  /** Whether it counts as one of the slow reads in progress. */
  slow: boolean
  resolve(result: QueryResult<never>): void
  reject(error: Error): void
}

type ReaderOptions = SqliteWatcher & { path: string; onEnded: (read: PendingRead, ranMs: number) => void }

/** A reading thread and its reads. The first read is running, and the others wait behind it. */
export class Reader {
  readonly thread: SqliteThread
  readonly #onEnded: ReaderOptions['onEnded']
  #reads: PendingRead[] = []
  /** When the first read began. Infinity while the thread is starting. */
  #since = Number.POSITIVE_INFINITY
  #isOpen = false
  /** Whether its first read takes long, so others should use another thread. */
  isHeldUp = false

  constructor({ onEnded, ...options }: ReaderOptions) {
    this.#onEnded = onEnded
    const onOpened = () => {
      this.#isOpen = true
      this.#since = performance.now()
    }
    this.thread = new SqliteThread({ ...options, role: 'reader', onOpened })
  }

  /** How many reads it has. */
  get load(): number {
    return this.#reads.length
  }

  get first(): PendingRead | undefined {
    return this.#reads[0]
  }

  /** How long its first read has run. */
  ranMs(now: number): number {
    return this.#reads.length === 0 ? 0 : now - this.#since
  }

  take(read: PendingRead): void {
    if (this.#reads.length === 0 && this.#isOpen) this.#since = performance.now()
    this.#reads.push(read)
    const caller: Caller = {
      resolve: ([result]) => {
        this.#next(read)
        read.resolve(result as QueryResult<never>)
      },
      reject: (error) => {
        this.#next(read)
        read.reject(error)
      },
    }
    this.thread.ask(read.statement, caller)
  }

  /** Removes and returns all reads that haven't begun, which are all but the first. */
  takeBack(): PendingRead[] {
    this.thread.takeBack()
    return this.#reads.splice(1)
  }

  #next(read: PendingRead): void {
    const now = performance.now()
    const ranMs = now - this.#since
    this.#since = now
    this.#reads.shift()
    this.isHeldUp = false
    this.#onEnded(read, ranMs)
  }
}
