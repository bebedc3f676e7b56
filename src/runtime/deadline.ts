/** Something that can be cancelled. */
export class Cancellation {
  readonly #controller = new AbortController()

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get cancelled(): boolean {
    return this.signal.aborted
  }

  cancel(): void {
    this.#controller.abort()
  }
}

/** How long a run may go on: until its time limit, or until the first of its cancellations. */
export class Deadline {
  readonly timeout_ms: number
  readonly #cancellations: readonly Cancellation[]
  readonly #controller = new AbortController()
  // The timer uses the monotonic clock, so the remaining time is measured with it too.
  readonly #started = performance.now()
  readonly #timer: NodeJS.Timeout
  readonly #abort = () => this.#controller.abort()
  #timedOut = false

  constructor(cancellations: readonly Cancellation[], timeout_ms: number) {
    this.#cancellations = cancellations
    this.timeout_ms = timeout_ms
    if (this.#cancelled()) this.#abort()
    for (const { signal } of cancellations) signal.addEventListener('abort', this.#abort, { once: true })
    this.#timer = setTimeout(() => {
      this.#timedOut = !this.#cancelled()
      this.#abort()
    }, timeout_ms)
  }

  /** Aborts at the deadline and on cancel. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get stopped(): 'timeout' | 'cancelled' | undefined {
    if (this.#timedOut) return 'timeout'
    return this.#cancelled() ? 'cancelled' : undefined
  }

  remaining(): number {
    return Math.max(0, this.timeout_ms - (performance.now() - this.#started))
  }

  release(): void {
    clearTimeout(this.#timer)
    for (const { signal } of this.#cancellations) signal.removeEventListener('abort', this.#abort)
  }

  #cancelled(): boolean {
    return this.#cancellations.some(({ cancelled }) => cancelled)
  }
}
