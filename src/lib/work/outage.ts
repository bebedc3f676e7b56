import type { Logger } from '../log.ts'

/** How often a continuing outage is logged again, with its cost so far. */
const AGAIN_MS = 60_000

type Words = { level: 'warn' | 'error'; lost: string; back: string }

/**
 * Something that is temporarily unavailable. The first failure is logged, and further ones are counted until it is
 * available again.
 */
export class Outage {
  readonly #log: Logger
  readonly #words: Words
  readonly #now: () => number
  #since: number | undefined
  #toldAt = 0
  #failures = 0

  constructor(log: Logger, now: () => number, words: Words) {
    this.#log = log
    this.#now = now
    this.#words = words
  }

  get isOn(): boolean {
    return this.#since !== undefined
  }

  failed(err?: unknown): void {
    const time = this.#now()
    const { level, lost } = this.#words
    this.#failures += 1
    if (this.#since === undefined) {
      this.#since = time
      this.#log[level]({ err }, lost)
    } else if (time - this.#toldAt >= AGAIN_MS) this.#log[level](this.#cost(), lost)
    else return
    this.#toldAt = time
  }

  /** Call this whenever it works. */
  works(): void {
    if (this.#since === undefined) return
    // The end is always logged as a warning, no matter what level the outage had, so alerts that count errors ignore
    // it.
    this.#log.warn(this.#cost(), this.#words.back)
    this.#since = undefined
    this.#failures = 0
  }

  #cost() {
    return { failures: this.#failures, seconds: Math.round((this.#now() - (this.#since ?? 0)) / 1000) }
  }
}
