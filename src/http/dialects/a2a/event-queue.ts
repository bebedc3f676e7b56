/** Events that one side adds when they happen, and the other takes when it can. */
export class EventQueue<T> {
  #waiting: T[] = []
  #wake: (() => void) | undefined
  #isOver = false

  add(event: T): void {
    this.#waiting.push(event)
    this.#wake?.()
  }

  /** No more events come. */
  end(): void {
    this.#isOver = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      const events = this.#waiting
      this.#waiting = []
      yield* events
      if (this.#waiting.length > 0) continue
      if (this.#isOver) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
