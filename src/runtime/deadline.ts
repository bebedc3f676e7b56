/** Something that can be cancelled. */
export class Cancellation {
  /** Called when this is cancelled. */
  readonly listeners = new Set<() => void>()
  #controller: AbortController | undefined
  #isCancelled = false
  #isGivenUp = false

  /** For what needs a signal. Most runs end without one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isCancelled) this.#controller.abort()
    return this.#controller.signal
  }

  get cancelled(): boolean {
    return this.#isCancelled
  }

  cancel(): void {
    if (this.#isCancelled) return
    this.#isCancelled = true
    this.#controller?.abort()
    for (const listener of this.listeners) listener()
  }

  /** Stops the work on this node only. It continues elsewhere. */
  giveUp(): void {
    this.#isGivenUp = true
    this.cancel()
  }

  get isGivenUp(): boolean {
    return this.#isGivenUp
  }
}

/** Knows which projects are paused. Until they are resumed, their runs call no model and no tool. */
export type PauseSource = {
  watch(project_id: string): Promise<WatchedPause>
}

/** `paused` is cancelled as soon as the project or the service is paused, or immediately if it already is. */
export type WatchedPause = { paused: Cancellation; release(): void }

/** How long a run can continue: until its time limit, its first cancellation, or a pause. */
export class Deadline {
  readonly timeout_ms: number
  readonly #cancellations: readonly Cancellation[]
  readonly #paused: Cancellation | undefined
  readonly #stopping = new Cancellation()
  readonly #lasting = new Cancellation()
  // The timer uses the monotonic clock, so the remaining time is measured with it as well.
  readonly #started = performance.now()
  readonly #timer: NodeJS.Timeout
  readonly #pause = () => this.#stopping.cancel()
  readonly #abort = () => {
    this.#stopping.cancel()
    this.#lasting.cancel()
  }
  #timedOut = false

  constructor(cancellations: readonly Cancellation[], timeout_ms: number, paused?: Cancellation) {
    this.#cancellations = cancellations
    this.#paused = paused
    this.timeout_ms = timeout_ms
    if (this.isOver) this.#abort()
    if (paused?.cancelled) this.#pause()
    for (const { listeners } of cancellations) listeners.add(this.#abort)
    paused?.listeners.add(this.#pause)
    this.#timer = setTimeout(() => {
      // A paused run that is still calling a tool isn't waiting yet, so it can time out.
      this.#timedOut = !this.isOver
      this.#abort()
    }, timeout_ms)
  }

  /** Aborts at the deadline, when cancelled, and on a pause. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** A signal for calls that a pause must not interrupt. */
  get lasting(): AbortSignal {
    return this.#lasting.signal
  }

  get stopped(): 'timeout' | 'cancelled' | 'paused' | undefined {
    if (this.#timedOut) return 'timeout'
    for (const { cancelled } of this.#cancellations) if (cancelled) return 'cancelled'
    return this.#paused?.cancelled ? 'paused' : undefined
  }

  /** Whether the run has ended. A paused run has not, because it continues later. */
  get isOver(): boolean {
    return this.stopped !== undefined && this.stopped !== 'paused'
  }

  remaining(): number {
    return Math.max(0, this.timeout_ms - (performance.now() - this.#started))
  }

  release(): void {
    clearTimeout(this.#timer)
    for (const { listeners } of this.#cancellations) listeners.delete(this.#abort)
    this.#paused?.listeners.delete(this.#pause)
  }
}

/** The result of the work. Rejects as soon as the signal aborts, without waiting for the work to end. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
