type Waiting = { amount: number; begin(): void }

/** An amount of something that works share. A work for which too little is left waits, in the order of asking. */
export class SharedRoom {
  #left: number
  readonly #waiting: Waiting[] = []

  constructor(amount: number) {
    this.#left = amount
  }

  /** Takes a part. Returns false if that was not possible within `ms`. */
  async take(amount: number, ms: number): Promise<boolean> {
    if (this.#waiting.length === 0 && amount <= this.#left) {
      this.#left -= amount
      return true
    }
    const turn = Promise.withResolvers<boolean>()
    const waiting = { amount, begin: () => turn.resolve(true) }
    this.#waiting.push(waiting)
    const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => turn.resolve(false), ms)
    const began = await turn.promise
    clearTimeout(timer)
    if (!began) {
      const at = this.#waiting.indexOf(waiting)
      // It began in the moment in which its time was over.
      if (at < 0) this.give(amount)
      else this.#waiting.splice(at, 1)
      this.#beginNext()
    }
    return began
  }

  give(amount: number): void {
    this.#left += amount
    this.#beginNext()
  }

  #beginNext(): void {
    for (let next = this.#waiting[0]; next && next.amount <= this.#left; next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#left -= next.amount
      next.begin()
    }
  }
}
