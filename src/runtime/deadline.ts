/** Something that can be cancelled. Its signal is made when it is first read, because most runs never need it. */
export class Cancellation {
  cancelled = false
  #controller: AbortController | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.cancelled) this.#controller.abort()
    return this.#controller.signal
  }

  cancel(): void {
    this.cancelled = true
    this.#controller?.abort()
  }
}

const NOTHING = () => {}

/** How long a run may go on: until its time limit, or until the first of its cancellations. */
export class Deadline {
  readonly timeout_ms: number
  readonly #cancellations: readonly Cancellation[]
  // The timer uses the monotonic clock, so the remaining time is measured with it too.
  readonly #started = performance.now()
  #controller: AbortController | undefined
  #timer: NodeJS.Timeout | undefined
  #abort = NOTHING
  #timedOut = false

  constructor(cancellations: readonly Cancellation[], timeout_ms: number) {
    this.#cancellations = cancellations
    this.timeout_ms = timeout_ms
  }

  /**
   * Aborts at the deadline and on cancel. The timer starts when this is first read: built-in models never wait, so they
   * never need a timer.
   */
  get signal(): AbortSignal {
    return (this.#controller ?? this.#arm()).signal
  }

  get stopped(): 'timeout' | 'cancelled' | undefined {
    if (this.#timedOut) return 'timeout'
    return this.#cancelled() ? 'cancelled' : undefined
  }

  remaining(): number {
    return Math.max(0, this.timeout_ms - (performance.now() - this.#started))
  }

  release(): void {
    if (!this.#controller) return
    clearTimeout(this.#timer)
    for (const { signal } of this.#cancellations) signal.removeEventListener('abort', this.#abort)
  }

  #cancelled(): boolean {
    return this.#cancellations.some(({ cancelled }) => cancelled)
  }

  #arm(): AbortController {
    const controller = new AbortController()
    this.#controller = controller
    this.#abort = () => controller.abort()
    if (this.#cancelled()) controller.abort()
    for (const { signal } of this.#cancellations) signal.addEventListener('abort', this.#abort, { once: true })
    this.#timer = setTimeout(() => {
      this.#timedOut = !this.#cancelled()
      controller.abort()
    }, this.timeout_ms)
    return controller
  }
}
