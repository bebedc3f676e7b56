import { setTimeout as delay } from 'node:timers/promises'
import type { Storage } from '../open-storage.ts'
import { touch } from '../stored-settings.ts'

const LOOK_EVERY_MS = 1_000
const ANSWER_WITHIN_MS = 2_000
/** A scrape of telemetry waits no longer. */
const SEEN_WITHIN_MS = 400

/**
 * Checks whether the store takes writes: with a full disk it can still be read. It checks once a second at most,
 * however often it is asked, and never while an earlier check still waits, so that checks do not pile up behind a
 * stalled transaction.
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

  /** Says why the store takes no writes, or undefined. Answers within two seconds, whatever the store does. */
  async problem(): Promise<string | undefined> {
    // Such a store may still take the writes of the probe.
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

  /** Whether the store takes writes. One that is slow to say so does not. */
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
