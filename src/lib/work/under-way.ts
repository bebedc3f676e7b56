/** Work that a stop waits for. */
export class UnderWay {
  readonly #working = new Set<Promise<void>>()

  /** The work must not reject. */
  track(work: Promise<void>): void {
    this.#working.add(work)
    work.finally(() => this.#working.delete(work))
  }

  /** Resolves when everything has ended, and what was begun meanwhile too. */
  async ended(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working)
  }
}
