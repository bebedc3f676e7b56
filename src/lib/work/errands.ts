import type { Logger } from '../log.ts'

/**
 * Short work for which no request waits. The service's stop waits for it, so it ends before what it uses is closed.
 * Nothing starts after that.
 */
export class Errands {
  readonly #log: Logger
  readonly #stop = new AbortController()
  readonly #underWay = new Set<Promise<void>>()

  constructor(log: Logger) {
    this.#log = log
  }

  /**
   * `what` describes the work in the log if it fails. Long work should throw the signal's reason when the signal
   * aborts.
   */
  begin(what: string, work: (signal: AbortSignal) => Promise<unknown>): void {
    const { signal } = this.#stop
    if (signal.aborted) return
    const ended = work(signal)
      .then(
        () => {},
        (err) => {
          if (err !== signal.reason) this.#log.warn({ err }, `${what} failed and will be retried`)
        },
      )
      .finally(() => this.#underWay.delete(ended))
    this.#underWay.add(ended)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#underWay)
  }
}
