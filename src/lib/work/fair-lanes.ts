import { groupOf } from './lane-key.ts'

/**
 * How much work may be in progress on this node: in total, and in one lane. A quarter of the total is added for groups
 * that have nothing in progress.
 */
export type Share = {
  total: number
  ofLane(key: string): number
  /** How many pieces of work a lane gets in one turn, at most. */
  inTurn?: number
}

/** A lane whose turn it is, and how many pieces of its work can start. */
export type LaneTurn = { readonly key: string; readonly places: number }

/** What is known after a lane's turn. */
export type Outlook = {
  /** How many pieces of work have begun. */
  begun: number
  /**
   * When more is due. `full` says that more is due now, but the lane or its group has reached its limit on all nodes.
   * Undefined if nothing is left.
   */
  next: number | Full | undefined
  /** When the turn's results are to be stored, if that failed. */
  store_at?: number | undefined
}

export type Full = 'full' | 'group full'

type Lane = {
  /** `served` during its turn, while the store is asked for work. A lane has only one turn at a time. */
  mode: 'resting' | 'served'
  /** When its turn comes. During a turn it can only become earlier, so no wake-up is lost. */
  due_at: number
  /** Set if more is due but has to wait until something of the lane or its group ends. */
  full: Full | undefined
  /** Whether something of its group has ended during its turn. The turn may have counted it before. */
  wasGroupFreed: boolean
  /** How much work has begun, plus the places that are reserved during a turn. */
  under_way: number
  /** When results of ended work are to be stored. Infinity if there are none. */
  store_at: number
  /** How many successes in a row a lane needs before it is trusted again. */
  distrust: number
}

/** A lane with its key. */
type WaitingLane = readonly [string, Lane]

/** A group's waiting lanes, and how much work of the whole group is in progress. */
type Group = { under_way: number; line: WaitingLane[] }

const NEVER = Number.POSITIVE_INFINITY
/** A lane in which a piece of work failed is trusted again after this many successes in a row. */
const TRUSTED_AFTER = 20

/**
 * Decides whose work starts next. Each owner of work (an agent, a webhook, a kind of job) has a lane, so one long queue
 * doesn't delay the others. The lanes of a project form a group (`lane-key.ts`). The group with the least active work
 * comes first, and within it the lane with the least, then the one that has waited longest. If one in five pieces of a
 * lane's work (or more) fails, the lane gets one place at a time, and all such lanes together get at most half of the
 * places, because failures may be slow. This class reads no clock.
 */
export class FairLanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #share: Share
  readonly #maxDistrusted: number
  readonly #reserve: number
  #free: number

  constructor(share: Share) {
    this.#share = share
    this.#free = share.total
    this.#maxDistrusted = Math.ceil(share.total / 2)
    this.#reserve = Math.ceil(share.total / 4)
  }

  /** Whether nothing is in progress and every result is stored. */
  get isIdle(): boolean {
    return this.#lanes.values().every(isIdle)
  }

  /** Notes that the lane has work at this time or earlier. A full lane still waits. */
  wake(key: string, due_at: number): void {
    const lane = this.#laneOf(key)
    if (!lane.full) lane.due_at = Math.min(lane.due_at, due_at)
  }

  /** Notes that a place for which a full lane waits may be free. A turn in progress may have counted it before. */
  freed(key: string): void {
    const lane = this.#lanes.get(key)
    if (lane?.full === 'full' || lane?.mode === 'served') lane.due_at = Number.NEGATIVE_INFINITY
    this.#freedGroup(key)
  }

  /** The lanes whose turn it is. Their places are reserved until `served` is called. */
  turns(now: number): LaneTurn[] {
    const waiting = [...this.#lanes].filter(
      ([, { mode, store_at, due_at }]) => mode === 'resting' && (store_at <= now || due_at <= now),
    )
    const places = this.#allot(waiting, now)
    const turns: LaneTurn[] = []
    for (const [key, lane] of waiting) {
      const turn = { key, places: places.get(key) ?? 0 }
      if (turn.places === 0 && lane.store_at > now) continue
      this.#free -= turn.places
      lane.under_way += turn.places
      if (turn.places > 0) {
        lane.due_at = NEVER
        lane.full = undefined
      }
      lane.mode = 'served'
      lane.store_at = NEVER
      lane.wasGroupFreed = false
      // The lane goes to the end of the line.
      this.#lanes.delete(key)
      this.#lanes.set(key, lane)
      turns.push(turn)
    }
    return turns
  }

  /** Ends a turn. A full lane gets another turn at `full_until`, unless something of it ends before. */
  served({ key, places }: LaneTurn, { begun, next, store_at = NEVER }: Outlook, full_until: number): void {
    const lane = this.#laneOf(key)
    this.#free += places - begun
    lane.mode = 'resting'
    lane.under_way += begun - places
    lane.store_at = Math.min(lane.store_at, store_at)
    const isFull = next === 'full' || next === 'group full'
    this.wake(key, isFull ? full_until : (next ?? NEVER))
    if (isFull) lane.full = next
    // Until the group turns out to be full, its next waiting lane can have a place.
    if (places > 0 && (next !== 'group full' || lane.wasGroupFreed)) this.#freedGroup(key)
    this.#forgetIdle(key, lane)
  }

  /** Notes that a piece of work has ended. If it has a result, the lane gets a turn to store it. */
  ended(key: string, hasResult: boolean): void {
    const lane = this.#laneOf(key)
    this.#free++
    lane.under_way--
    if (hasResult) lane.store_at = Number.NEGATIVE_INFINITY
    this.freed(key)
    this.#forgetIdle(key, lane)
  }

  /** Notes whether a piece of the lane's work succeeded. */
  report(key: string, how: 'well' | 'failed'): void {
    const lane = this.#laneOf(key)
    lane.distrust = how === 'failed' ? TRUSTED_AFTER : Math.max(0, lane.distrust - 1)
  }

  /** The time of the next turn after `now`. Infinity if only a call can cause one. */
  nextTurn(now: number): number {
    let next = NEVER
    for (const { mode, due_at, store_at } of this.#lanes.values()) {
      if (mode !== 'resting') continue
      for (const time of [due_at, store_at]) if (time > now && time < next) next = time
    }
    return next
  }

  /** From now on, nothing starts. Lanes get turns only to store results, at once. */
  close(): void {
    this.#free = Number.NEGATIVE_INFINITY
    for (const lane of this.#lanes.values()) if (lane.store_at < NEVER) lane.store_at = Number.NEGATIVE_INFINITY
  }

  /**
   * How many places each waiting lane gets. Places are assigned one by one, always to the group with the least work.
   * Within a group, each lane gets one place before any gets a second one.
   */
  #allot(waiting: readonly WaitingLane[], now: number): Map<string, number> {
    const places = new Map<string, number>()
    let forDistrusted = this.#maxDistrusted
    for (const { distrust, under_way } of this.#lanes.values()) if (distrust > 0) forDistrusted -= under_way
    const mayHave = ([key, { distrust, under_way }]: WaitingLane) => {
      if (distrust > 0) return under_way === 0 && !places.has(key) && forDistrusted > 0
      const given = places.get(key) ?? 0
      return under_way + given < this.#share.ofLane(key) && given < (this.#share.inTurn ?? NEVER)
    }
    const groups = this.#groupsOf(waiting.filter(([, { due_at }]) => due_at <= now))
    for (let free = this.#free; free > -this.#reserve; ) {
      const group = leastLoaded(free > 0 ? groups : groups.filter(({ under_way }) => under_way === 0))
      if (!group) break
      const lane = group.line.shift() as WaitingLane
      if (!mayHave(lane)) continue
      const [key, { distrust }] = lane
      places.set(key, (places.get(key) ?? 0) + 1)
      if (distrust > 0) forDistrusted--
      free--
      group.under_way++
      group.line.push(lane)
    }
    return places
  }

  /** The groups of these lanes. In each group, the lane with the least work comes first. */
  #groupsOf(waiting: readonly WaitingLane[]): Group[] {
    const loads = new Map<string, number>()
    for (const [key, { under_way }] of this.#lanes) {
      const group = groupOf(key)
      loads.set(group, (loads.get(group) ?? 0) + under_way)
    }
    return [...Map.groupBy(waiting, ([key]) => groupOf(key))].map(([name, lanes]) => ({
      under_way: loads.get(name) ?? 0,
      line: lanes.toSorted(([, a], [, b]) => a.under_way - b.under_way),
    }))
  }

  /** Gives a turn to the lane that has waited longest of those that wait because the group is full. */
  #freedGroup(key: string): void {
    const group = groupOf(key)
    let isPassedOn = false
    for (const [other, lane] of this.#lanes) {
      if (groupOf(other) !== group) continue
      if (lane.mode === 'served') lane.wasGroupFreed = true
      else if (lane.full === 'group full' && !isPassedOn) {
        lane.due_at = Number.NEGATIVE_INFINITY
        isPassedOn = true
      }
    }
  }

  #laneOf(key: string): Lane {
    const known = this.#lanes.get(key)
    if (known) return known
    const lane: Lane = {
      mode: 'resting',
      due_at: NEVER,
      full: undefined,
      wasGroupFreed: false,
      under_way: 0,
      store_at: NEVER,
      distrust: 0,
    }
    this.#lanes.set(key, lane)
    return lane
  }

  #forgetIdle(key: string, lane: Lane): void {
    if (isIdle(lane) && lane.due_at === NEVER) this.#lanes.delete(key)
  }
}

/** The group with the least work. If several have the same, the one that has waited longest. */
function leastLoaded(groups: readonly Group[]): Group | undefined {
  let least: Group | undefined
  for (const group of groups) {
    if (group.line.length > 0 && (!least || group.under_way < least.under_way)) least = group
  }
  return least
}

function isIdle({ mode, under_way, store_at }: Lane): boolean {
  return mode === 'resting' && under_way === 0 && store_at === NEVER
}
