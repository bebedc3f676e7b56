/** How often the clock is checked. It may be changed, so one long timer would not do. */
const CLOCK_MS = 1_000

type Options = {
  /** Does what is due. Returns the time at which more is due, or undefined if the lookout will be woken. */
  look: () => Promise<number | undefined>
  /** Told of a look that failed. The next one comes a second later. */
  failed: (err: unknown) => void
  now: () => number
  /** Calls back after so many milliseconds, unless it is cancelled before. */
  callLater?: CallLater
}

type CallLater = (callback: () => void, ms: number) => Cancel
type Cancel = () => void

const byTimeout: CallLater = (callback, ms) => {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/**
 * Looks for work when it is woken, and when the work is due that the last look has found. It never looks twice at once.
 */
export class Lookout {
  readonly #options: Required<Options>
  #looking: Promise<void> | undefined
  #lookAgain = false
  #cancelTimer: Cancel | undefined
  #isClosed = false

  constructor(options: Options) {
    this.#options = { callLater: byTimeout, ...options }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Looks now. A look that is under way may have missed what the caller means, so it is followed by another one. */
  wake(): void {
    if (this.#isClosed) return
    this.#lookAgain = true
    this.#looking ??= this.#lookUntilDone()
  }

  /** Begins no more looks. Resolves when the last one has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer?.()
    await this.#looking
  }

  async #lookUntilDone(): Promise<void> {
    this.#cancelTimer?.()
    const { look, failed, now } = this.#options
    let due_at: number | undefined
    while (this.#lookAgain && !this.#isClosed) {
      this.#lookAgain = false
      try {
        due_at = await look()
      } catch (err) {
        failed(err)
        due_at = now() + CLOCK_MS
      }
    }
    this.#looking = undefined
    if (due_at !== undefined) this.#waitFor(due_at)
  }

  #waitFor(due_at: number): void {
    if (this.#isClosed) return
    const { now, callLater } = this.#options
    const rest = due_at - now()
    if (rest <= 0) return this.wake()
    this.#cancelTimer = callLater(() => this.#waitFor(due_at), Math.min(rest, CLOCK_MS))
  }
}
