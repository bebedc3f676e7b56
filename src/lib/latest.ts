/**
 * Remembers texts that were added lately: at most `size` of them, and at least the latest half. The older half is
 * forgotten as a whole. A set that removes its oldest text with each new one gets slow: to find the oldest, it walks
 * over the gaps that all removed ones have left.
 */
export class Latest {
  readonly #half: number
  #newer = new Set<string>()
  #older = new Set<string>()

  constructor(size: number) {
    this.#half = size / 2
  }

  add(text: string): void {
    this.#newer.add(text)
    if (this.#newer.size < this.#half) return
    this.#older = this.#newer
    this.#newer = new Set()
  }

  has(text: string): boolean {
    return this.#newer.has(text) || this.#older.has(text)
  }
}
