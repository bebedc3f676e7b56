import { type AwakeTimeout, setAwakeTimeout } from './awake-timeout.ts'
import { groupOf } from './lane-key.ts'

/** A part of a room that is in use. */
export type Portion = {
  /** Gives back everything above this amount. */
  keep(amount: number): void
  /** Gives back everything. Only the first call has an effect. */
  release(): void
}

type RoomRequest = { lane: string; amount: number; begin(portion: Portion | undefined): void }

/**
 * A fixed amount of something that this process has: bytes of memory, threads, places. Each part is taken for a lane
 * (`lane-key.ts`), which is a project and an agent or another owner in it.
 *
 * A project can use at most as much as it leaves free: one project alone gets half of the room, and two get a third
 * each. So there is always something left for a project that uses nothing. If too little is left, projects take turns,
 * and so do the lanes of each: those that use least come first, then those whose last turn was longest ago.
 */
export class FairRoom {
  readonly #total: number
  #left: number
  #isClosed = false
  /** What projects and lanes use, by name. */
  readonly #held = new Map<string, number>()
  /**
   * The waiting requests, by project and lane. The project whose last turn was longest ago comes first, and so do its
   * lanes.
   */
  readonly #line = new Map<string, Map<string, RoomRequest[]>>()

  constructor(total: number) {
    this.#total = total
    this.#left = total
  }

  /**
   * Takes a part. Undefined if there was no room within `ms` or before the signal aborted, or if the room was closed.
   */
  async take(
    lane: string,
    amount: number,
    ms = Number.POSITIVE_INFINITY,
    signal?: AbortSignal,
  ): Promise<Portion | undefined> {
    const wanted = Math.min(amount, this.#total)
    if (this.#isClosed || signal?.aborted) return undefined
    if (this.#line.size === 0 && this.#fits(lane, wanted)) return this.#give(lane, wanted)
    const turn = Promise.withResolvers<Portion | undefined>()
    const waiting: RoomRequest = { lane, amount: wanted, begin: turn.resolve }
    this.#stand(waiting)
    this.#beginNext()
    const giveUp = () => this.#giveUp(waiting)
    let timer: AwakeTimeout | undefined
    if (ms !== Number.POSITIVE_INFINITY) timer = setAwakeTimeout(giveUp, ms)
    signal?.addEventListener('abort', giveUp, { once: true })
    const portion = await turn.promise
    timer?.clear()
    signal?.removeEventListener('abort', giveUp)
    return portion
  }

  /** Does work that uses one place. */
  async during<T>(lane: string, work: () => Promise<T>): Promise<T> {
    const place = await this.take(lane, 1)
    try {
      return await work()
    } finally {
      place?.release()
    }
  }

  /** Adds a part that is already in use, no matter how much room is left. Others wait until there is room again. */
  add(lane: string, amount: number): Portion {
    return this.#give(lane, amount)
  }

  /** Ends all waits. From now on, nothing is given out. */
  close(): void {
    this.#isClosed = true
    const waiting = [...this.#line.values()].flatMap((lanes) => [...lanes.values()].flat())
    this.#line.clear()
    for (const { begin } of waiting) begin(undefined)
  }

  /** Whether the amount fits. A project that uses nothing can have everything that is left. */
  #fits(lane: string, amount: number): boolean {
    return this.#heldBy(groupOf(lane)) + amount <= this.#left
  }

  #give(lane: string, amount: number): Portion {
    let held = 0
    const change = (by: number) => {
      held += by
      this.#left -= by
      for (const name of [groupOf(lane), lane]) {
        const sum = this.#heldBy(name) + by
        if (sum === 0) this.#held.delete(name)
        else this.#held.set(name, sum)
      }
    }
    change(amount)
    const keep = (most: number) => {
      if (most >= held) return
      change(most - held)
      this.#beginNext()
    }
    return { keep, release: () => keep(0) }
  }

  #heldBy(name: string): number {
    return this.#held.get(name) ?? 0
  }

  #beginNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#leave(next)
      this.#moveBack(next.lane)
      next.begin(this.#give(next.lane, next.amount))
    }
  }

  /** The next waiting request, if there is room for it now. */
  #next(): RoomRequest | undefined {
    for (const [project, lanes] of this.#leastFirst(this.#line)) {
      const [[, [first]]] = this.#leastFirst(lanes) as [[string, [RoomRequest]]]
      if (this.#fits(first.lane, first.amount)) return first
      // This project uses nothing, so only others can make room for it. Whatever is left is saved until its request
      // fits.
      if (this.#heldBy(project) === 0) return undefined
    }
    return undefined
  }

  #leastFirst<T>(named: ReadonlyMap<string, T>): [string, T][] {
    return [...named].toSorted(([a], [b]) => this.#heldBy(a) - this.#heldBy(b))
  }

  #stand(waiting: RoomRequest): void {
    const { lane } = waiting
    const lanes = this.#line.get(groupOf(lane)) ?? new Map<string, RoomRequest[]>()
    this.#line.set(groupOf(lane), lanes.set(lane, [...(lanes.get(lane) ?? []), waiting]))
  }

  /** Returns false if the request is no longer waiting. */
  #leave(waiting: RoomRequest): boolean {
    const { lane } = waiting
    const lanes = this.#line.get(groupOf(lane))
    const line = lanes?.get(lane)
    const at = line?.indexOf(waiting) ?? -1
    if (!lanes || !line || at < 0) return false
    line.splice(at, 1)
    if (line.length === 0) lanes.delete(lane)
    if (lanes.size === 0) this.#line.delete(groupOf(lane))
    return true
  }

  /** Moves a project to the end of the line after its turn, and likewise the lane in it. */
  #moveBack(lane: string): void {
    const project = groupOf(lane)
    const lanes = this.#line.get(project)
    if (!lanes) return
    this.#line.delete(project)
    this.#line.set(project, lanes)
    const line = lanes.get(lane)
    if (!line) return
    lanes.delete(lane)
    lanes.set(lane, line)
  }

  #giveUp(waiting: RoomRequest): void {
    if (!this.#leave(waiting)) return
    waiting.begin(undefined)
    // Others may have waited behind this request.
    this.#beginNext()
  }
}
