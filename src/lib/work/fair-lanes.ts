/** How many pieces of work may be under way on this node: in all, and of one lane. */
export type Share = { total: number; ofLane(key: string): number }

/** A lane whose turn it is, and how many pieces of its work may begin. */
export type LaneTurn = { readonly key: string; readonly places: number }

/** What is known after a lane's turn. */
export type Outlook = {
  /** How many pieces of work have begun. */
  begun: number
  /**
   * When more is due. `full` says that more is due now, but as much is under way on all nodes as may be. Undefined when
   * nothing is left.
   */
  next: number | 'full' | undefined
}

type Lane = {
  /** During its turn the store is asked about it. A lane has one turn at a time. */
  mode: 'resting' | 'served'
  /** When its turn comes. During a turn it is only moved forward, so that no wake-up is lost. */
  due_at: number
  /** More is due, but it has to wait until something of the lane ends. */
  isFull: boolean
  under_way: number
  /** Whether results of ended work wait to be stored. */
  hasResults: boolean
  /** How many successes in a row a lane needs before it is trusted again. */
  distrust: number
}

const NEVER = Number.POSITIVE_INFINITY
/** A lane of which a piece failed is trusted again after this many successes in a row. */
const TRUSTED_AFTER = 20

/**
 * Decides whose work begins next. Each owner of work (an agent, a webhook, a kind of job) has a lane, so that the long
 * queue of one does not hold up the others: the lane with the least work under way comes first, then the one that has
 * waited longest, and each gets one place before any gets another. A lane of which pieces fail, were it one in five,
 * gets one place at a time, and all such lanes together get at most half of the places: failures may be slow. It reads
 * no clock.
 */
export class FairLanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #share: Share
  readonly #maxDistrusted: number
  #free: number

  constructor(share: Share) {
    this.#share = share
    this.#free = share.total
    this.#maxDistrusted = Math.ceil(share.total / 2)
  }

  /** Nothing is under way, and every result is stored. */
  get isIdle(): boolean {
    return this.#lanes.values().every(isIdle)
  }

  /** The lane has something to do at this time or earlier. A full lane waits all the same. */
  wake(key: string, due_at: number): void {
    const lane = this.#laneOf(key)
    if (!lane.isFull) lane.due_at = Math.min(lane.due_at, due_at)
  }

  /** A place that a full lane waits for may be free. A turn under way may have counted it before. */
  freed(key: string): void {
    const lane = this.#lanes.get(key)
    if (lane?.isFull || lane?.mode === 'served') lane.due_at = Number.NEGATIVE_INFINITY
  }

  /** The lanes whose turn it is. Their places are set aside until `served` is called. */
  turns(now: number): LaneTurn[] {
    const waiting = [...this.#lanes]
      .filter(([, { mode, hasResults, due_at }]) => mode === 'resting' && (hasResults || due_at <= now))
      .toSorted(([, a], [, b]) => compareLoad(a, b))
    const places = this.#allot(waiting, now)
    const turns: LaneTurn[] = []
    for (const [i, [key, lane]] of waiting.entries()) {
      const turn = { key, places: places[i] as number }
      if (turn.places === 0 && !lane.hasResults) continue
      this.#free -= turn.places
      if (turn.places > 0) {
        lane.due_at = NEVER
        lane.isFull = false
      }
      lane.mode = 'served'
      lane.hasResults = false
      // The lane goes to the end of the line.
      this.#lanes.delete(key)
      this.#lanes.set(key, lane)
      turns.push(turn)
    }
    return turns
  }

  /** Ends a turn. `full_until` is when a full lane gets another turn if nothing of it ends before. */
  served({ key, places }: LaneTurn, { begun, next }: Outlook, full_until: number): void {
    const lane = this.#laneOf(key)
    this.#free += places - begun
    lane.mode = 'resting'
    lane.under_way += begun
    this.wake(key, next === 'full' ? full_until : (next ?? NEVER))
    if (next === 'full') lane.isFull = true
    this.#forgetIdle(key, lane)
  }

  /** A piece of work has ended. If it has a result, the lane gets a turn to store it. */
  ended(key: string, hasResult: boolean): void {
    const lane = this.#laneOf(key)
    this.#free++
    lane.under_way--
    lane.hasResults ||= hasResult
    this.freed(key)
    this.#forgetIdle(key, lane)
  }

  /** How a piece of the lane's work went. */
  report(key: string, how: 'well' | 'failed'): void {
    const lane = this.#laneOf(key)
    lane.distrust = how === 'failed' ? TRUSTED_AFTER : Math.max(0, lane.distrust - 1)
  }

  /** The time of the next turn after `now`. Infinity when only a call can cause one. */
  nextTurn(now: number): number {
    let next = NEVER
    for (const { mode, due_at } of this.#lanes.values()) {
      if (mode === 'resting' && due_at > now && due_at < next) next = due_at
    }
    return next
  }

  /** From now on nothing begins. Lanes get turns only to store results. */
  close(): void {
    this.#free = Number.NEGATIVE_INFINITY
  }

  /** How many places each of the waiting lanes gets: one each, then another each, as long as places are left. */
  #allot(waiting: readonly (readonly [string, Lane])[], now: number): number[] {
    const places = waiting.map(() => 0)
    let free = this.#free
    let forDistrusted = this.#maxDistrusted
    for (const { distrust, under_way } of this.#lanes.values()) if (distrust > 0) forDistrusted -= under_way
    for (let given = -1; given !== 0; ) {
      given = 0
      for (const [i, [key, { due_at, under_way, distrust }]] of waiting.entries()) {
        const most = distrust > 0 ? 1 : this.#share.ofLane(key)
        const has = places[i] as number
        if (free <= 0 || due_at > now || under_way + has >= most) continue
        if (distrust > 0 && forDistrusted-- <= 0) continue
        places[i] = has + 1
        free--
        given++
      }
    }
    return places
  }

  #laneOf(key: string): Lane {
    const known = this.#lanes.get(key)
    if (known) return known
    const lane: Lane = { mode: 'resting', due_at: NEVER, isFull: false, under_way: 0, hasResults: false, distrust: 0 }
    this.#lanes.set(key, lane)
    return lane
  }

  #forgetIdle(key: string, lane: Lane): void {
    if (isIdle(lane) && lane.due_at === NEVER) this.#lanes.delete(key)
  }
}

/** Who comes first. A level above the lanes, such as projects, would be compared here before the lanes are. */
function compareLoad(a: Lane, b: Lane): number {
  return a.under_way - b.under_way
}

function isIdle({ mode, under_way, hasResults }: Lane): boolean {
  return mode === 'resting' && under_way === 0 && !hasResults
}
