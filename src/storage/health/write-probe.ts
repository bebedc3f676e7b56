import { setTimeout as delay } from 'node:timers/promises'
import type { Storage } from '../open-storage.ts'
import { touch } from '../stored-settings.ts'

const LOOK_EVERY_MS = 1_000
const ANSWER_WITHIN_MS = 2_000
/** A telemetry scrape waits at most this long. */
const SEEN_WITHIN_MS = 400

/**
 * Checks whether the store accepts writes, because with a full disk it can only be read. It checks at most once a
 * second, and never while an earlier check still waits, so checks don't pile up behind a stalled transaction.
 */
export class WriteProbe {
  readonly #storage: Pick<Storage, 'db' | 'unusable'>
  readonly #now: () => number
  #lookedAt = Number.NEGATIVE_INFINITY
  #waits = false
  #answer: Promise<string | undefined> = Promise.resolve(undefined)

  constructor(storage: Pick<Storage, 'db' | 'unusable'>, now: () => number) {
    this.#storage = storage
    this.#now = now
  }

  /**
   * Returns why the store accepts no writes, or undefined. Answers within two seconds, no matter what the store does.
   */
  async problem(): Promise<string | undefined> {
    // An unusable store may still accept the probe's writes.
    const unusable = this.#storage.unusable()
    if (unusable) return unusable
    if (!this.#waits && performance.now() - this.#lookedAt >= LOOK_EVERY_MS) {
      this.#lookedAt = performance.now()
      this.#answer = this.#look()
    }
    if (!this.#waits) return this.#answer
    const patience = Math.max(0, this.#lookedAt + ANSWER_WITHIN_MS - performance.now())
    return Promise.race([this.#answer, delay(patience, "the database isn't responding", { ref: false })])
  }

  /** Whether the store accepts writes. A store that takes too long to respond doesn't. */
  async isUp(): Promise<boolean> {
    const slow = delay(SEEN_WITHIN_MS, 'the database is slow', { ref: false })
    return (await Promise.race([this.problem(), slow])) === undefined
  }

  async #look(): Promise<string | undefined> {
    this.#waits = true
    try {
      await touch(this.#storage.db, 'ready', String(this.#now()))
      return undefined
    } catch {
      return 'the database does not accept writes'
    } finally {
      this.#waits = false
    }
  }
}
