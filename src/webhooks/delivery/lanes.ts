/** What this node knows about the deliveries of one webhook. */
type Lane<Ended> = {
  /** When to look for something to send. It is only ever moved forward, so that no wake-up is lost during a look. */
  due_at: number
  isLookedAt: boolean
  under_way: number
  /** Results of ended deliveries that are not stored yet. */
  ended: Ended[]
  /** Whether the last attempt failed. */
  isFailing: boolean
}

/** A webhook to look at now: the results to store, and how many of its deliveries may start. */
export type Look<Ended> = { webhook_id: string; places: number; ended: Ended[] }

const NEVER = Number.POSITIVE_INFINITY

/**
 * The order in which webhooks are served. Each webhook has its own lane, so that no webhook waits for the queue of
 * another. A lane sends a few deliveries at a time, and only one while its receiver fails. All failing receivers
 * together get at most half of the places.
 */
export class Lanes<Ended> {
  readonly #lanes = new Map<string, Lane<Ended>>()
  readonly #maxPerEndpoint: number
  readonly #maxFailing: number
  #free: number
  #isClosed = false

  constructor({ maxInFlight, maxPerEndpoint }: { maxInFlight: number; maxPerEndpoint: number }) {
    this.#maxPerEndpoint = maxPerEndpoint
    this.#maxFailing = Math.ceil(maxInFlight / 2)
    this.#free = maxInFlight
  }

  /** No delivery is under way, and every result is stored. */
  get isIdle(): boolean {
    return this.#lanes
      .values()
      .every(({ isLookedAt, under_way, ended }) => !isLookedAt && under_way + ended.length === 0)
  }

  /** The webhook has something to send at this time or earlier. */
  bringForward(webhook_id: string, due_at: number): void {
    const lane = this.#laneOf(webhook_id)
    lane.due_at = Math.min(lane.due_at, due_at)
  }

  /**
   * The webhooks to look at now. Their places are set aside until `looked` is called. The webhook with the fewest
   * deliveries under way comes first, then the one that has waited longest.
   */
  looks(now: number): Look<Ended>[] {
    const waiting = [...this.#lanes].filter(
      ([, { isLookedAt, ended, due_at }]) => !isLookedAt && (ended.length > 0 || due_at <= now),
    )
    let forFailing = this.#maxFailing
    for (const { isFailing, under_way } of this.#lanes.values()) if (isFailing) forFailing -= under_way
    const looks: Look<Ended>[] = []
    for (const [webhook_id, lane] of waiting.toSorted(([, a], [, b]) => a.under_way - b.under_way)) {
      const places = this.#placesFor(lane, now, forFailing)
      if (places === 0 && lane.ended.length === 0) continue
      this.#free -= places
      if (lane.isFailing) forFailing -= places
      if (places > 0) lane.due_at = NEVER
      looks.push({ webhook_id, places, ended: lane.ended })
      lane.isLookedAt = true
      lane.ended = []
      // The lane goes to the end of the line.
      this.#lanes.delete(webhook_id)
      this.#lanes.set(webhook_id, lane)
    }
    return looks
  }

  /** Ends a look; so many deliveries have started. */
  looked({ webhook_id, places }: Look<Ended>, started: number): void {
    const lane = this.#laneOf(webhook_id)
    this.#free += places - started
    lane.isLookedAt = false
    lane.under_way += started
    if (lane.due_at === NEVER && lane.under_way === 0 && lane.ended.length === 0) this.#lanes.delete(webhook_id)
  }

  /** A started delivery has ended. */
  ended(webhook_id: string, how: Ended): void {
    const lane = this.#laneOf(webhook_id)
    this.#free += 1
    lane.under_way -= 1
    lane.ended.push(how)
  }

  judge(webhook_id: string, isFailing: boolean): void {
    this.#laneOf(webhook_id).isFailing = isFailing
  }

  /** The time of the next look. Infinity when only an event can cause one. */
  nextLook(now: number): number {
    let next = NEVER
    for (const { due_at } of this.#lanes.values()) if (due_at > now && due_at < next) next = due_at
    return next
  }

  /** From now on no delivery starts. */
  close(): void {
    this.#isClosed = true
  }

  #laneOf(webhook_id: string): Lane<Ended> {
    const known = this.#lanes.get(webhook_id)
    if (known) return known
    const lane = { due_at: NEVER, isLookedAt: false, under_way: 0, ended: [], isFailing: false }
    this.#lanes.set(webhook_id, lane)
    return lane
  }

  #placesFor({ due_at, under_way, isFailing }: Lane<Ended>, now: number, forFailing: number): number {
    if (this.#isClosed || due_at > now) return 0
    const own = (isFailing ? 1 : this.#maxPerEndpoint) - under_way
    return Math.max(0, Math.min(own, this.#free, isFailing ? forFailing : this.#free))
  }
}
