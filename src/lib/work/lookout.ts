/** How often the clock is checked. It may be changed, so one long timer would not do. */
const CLOCK_MS = 1_000

type Options = {
  /** Does what is due. Returns the time at which more is due, or undefined if the lookout will be woken. */
  look: () => Promise<number | undefined>
  /** Told of a look that failed. The next one comes a second later. */
  failed: (err: unknown) => void
  now: () => number
}

/**
 * Looks for work when it is woken, and when the work is due that the last look has found. It never looks twice at once.
 */
export class Lookout {
  readonly #options: Options
  #looking: Promise<void> | undefined
  #lookAgain = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
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
    clearTimeout(this.#timer)
    await this.#looking
  }

  async #lookUntilDone(): Promise<void> {
    clearTimeout(this.#timer)
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
    const rest = due_at - this.#options.now()
    if (rest <= 0) return this.wake()
    this.#timer = setTimeout(() => this.#waitFor(due_at), Math.min(rest, CLOCK_MS))
  }
}
