import { abortError, GuardedFetchError } from './guarded-error.ts'

/** What can end a call early: its caller or the time limit. */
export class Stop {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal | null | undefined
  readonly #timer: NodeJS.Timeout | undefined

  constructor(outer: AbortSignal | null | undefined, timeout_ms: number | undefined) {
    this.#outer = outer
    if (timeout_ms !== undefined) {
      const late = () =>
        this.#controller.abort(new GuardedFetchError('timeout', `no complete response within ${timeout_ms} ms`))
      this.#timer = setTimeout(late, timeout_ms)
    }
    outer?.addEventListener('abort', this.#onAbort)
    if (outer?.aborted) this.#onAbort()
  }

  /** Aborts with the error to report. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) reject(this.signal.reason)
      this.signal.addEventListener('abort', () => reject(this.signal.reason))
      work.then(resolve, reject)
    })
  }

  /** Call this when the call is over, so nothing can stop it any more. */
  release(): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = () => this.#controller.abort(abortError(this.#outer?.reason))
}
