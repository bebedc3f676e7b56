import { grown } from './grown.ts'

const FIRST_SIZE = 16

/** Memories in the order of their times, so the memories from a period are found without visiting the others. */
export class TimeOrder {
  #memories = new Int32Array(FIRST_SIZE)
  #size = 0
  /** How many memories are in order. Later ones are put in order by the next query. */
  #ordered = 0

  append(memory: number): void {
    if (this.#size === this.#memories.length) this.#memories = grown(this.#memories)
    this.#memories[this.#size++] = memory
  }

  /** The memories from `from` up to, but not including, `to`. The latest come last. `times` is indexed by memory. */
  between(from: number, to: number, times: Float64Array): Int32Array {
    if (this.#ordered < this.#size) this.#putInOrder(times)
    return this.#memories.subarray(this.#firstFrom(from, times), this.#firstFrom(to, times))
  }

  /** New memories are usually the latest, so few others have to move. */
  #putInOrder(times: Float64Array): void {
    const memories = this.#memories
    const timeOf = (memory: number | undefined) => times[memory as number] as number
    const later = memories.subarray(this.#ordered, this.#size).toSorted((a, b) => timeOf(a) - timeOf(b) || a - b)
    let earlier = this.#ordered - 1
    let next = later.length - 1
    for (let position = this.#size - 1; next >= 0; position--) {
      const moves = earlier >= 0 && timeOf(memories[earlier]) > timeOf(later[next])
      memories[position] = (moves ? memories[earlier--] : later[next--]) as number
    }
    this.#ordered = this.#size
  }

  #firstFrom(time: number, times: Float64Array): number {
    let [low, high] = [0, this.#size]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((times[this.#memories[middle] as number] as number) < time) low = middle + 1
      else high = middle
    }
    return low
  }
}
