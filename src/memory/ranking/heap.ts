/** `ways` combines the bits `WORDS`, `DATE` and `MEANING`. */
export type RankedItem = { seq: number; score: number; ways: number }

/**
 * Keeps the best `size` of all offered items, in a heap with the worst of them at its root. If two are equal, the newer
 * one is better.
 */
export class Best {
  readonly #size: number
  readonly #heap: RankedItem[] = []

  constructor(size: number) {
    this.#size = size
  }

  offer(seq: number, score: number, ways: number): void {
    const heap = this.#heap
    if (heap.length < this.#size) {
      heap.push({ seq, score, ways })
      this.#rise(heap.length - 1)
      return
    }
    const worst = heap[0]
    if (!worst || score < worst.score || (score === worst.score && seq < worst.seq)) return
    worst.seq = seq
    worst.score = score
    worst.ways = ways
    this.#sink()
  }

  /** The kept items in no particular order. */
  all(): readonly RankedItem[] {
    return this.#heap
  }

  sorted(): RankedItem[] {
    return this.#heap.toSorted((a, b) => b.score - a.score || b.seq - a.seq)
  }

  #rise(at: number): void {
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isWorse(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      if (left >= this.#heap.length) return
      const worse = left + 1 < this.#heap.length && this.#isWorse(left + 1, left) ? left + 1 : left
      if (!this.#isWorse(worse, at)) return
      this.#swap(worse, at)
      at = worse
    }
  }

  #isWorse(i: number, j: number): boolean {
    const a = this.#heap[i] as RankedItem
    const b = this.#heap[j] as RankedItem
    return a.score < b.score || (a.score === b.score && a.seq < b.seq)
  }

  #swap(i: number, j: number): void {
    const a = this.#heap[i] as RankedItem
    this.#heap[i] = this.#heap[j] as RankedItem
    this.#heap[j] = a
  }
}
