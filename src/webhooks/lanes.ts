/** A webhook's place in the order of service. */
type Lane = {
  /** When to look what it has to send. Only ever brought forward, so that no wake-up is lost while somebody looks. */
  due_at: number
  /** Somebody looks at this moment. */
  looking: boolean
  under_way: number
  failing: boolean
}

/** A webhook to look at now, and how many of its deliveries may start. */
export type Turn = { webhook_id: string; places: number }

export type Lanes = {
  /** The webhook has something to send at this time, or earlier. */
  bringForward(webhook_id: string, due_at: number): void
  /** Whose turn it is; the places are set aside until `looked`. */
  turns(now: number): Turn[]
  /** Ends a turn: so many deliveries have started. */
  looked(turn: Turn, started: number): void
  /** Whether the receiver's last attempt failed. */
  judge(webhook_id: string, failing: boolean): void
  /** One delivery that had started is over. */
  ended(webhook_id: string): void
  /** When the next turn comes by time alone; Infinity when only an event can bring one. */
  nextTurn(now: number): number
}

const NEVER = Number.POSITIVE_INFINITY

/**
 * Each webhook has a lane of its own, so that nobody waits behind another's queue: a few deliveries at a time, one while
 * its receiver fails, and all failing receivers together hold at most half of the places.
 */
export function createLanes({ maxInFlight, maxPerEndpoint }: { maxInFlight: number; maxPerEndpoint: number }): Lanes {
  const lanes = new Map<string, Lane>()
  let free = maxInFlight

  const laneOf = (webhook_id: string): Lane => {
    const known = lanes.get(webhook_id)
    if (known) return known
    const lane = { due_at: NEVER, looking: false, under_way: 0, failing: false }
    lanes.set(webhook_id, lane)
    return lane
  }

  const forgetIdle = (webhook_id: string, { due_at, looking, under_way }: Lane) => {
    if (due_at === NEVER && !looking && under_way === 0) lanes.delete(webhook_id)
  }

  return {
    bringForward(webhook_id, due_at) {
      const lane = laneOf(webhook_id)
      lane.due_at = Math.min(lane.due_at, due_at)
    },

    turns(now) {
      const turns: Turn[] = []
      let forFailing = Math.ceil(maxInFlight / 2)
      for (const { failing, under_way } of lanes.values()) if (failing) forFailing -= under_way
      for (const [webhook_id, lane] of lanes) {
        if (free === 0) break
        if (lane.due_at > now || lane.looking) continue
        const own = (lane.failing ? 1 : maxPerEndpoint) - lane.under_way
        const places = Math.min(own, free, lane.failing ? forFailing : free)
        if (places <= 0) continue
        free -= places
        if (lane.failing) forFailing -= places
        lane.looking = true
        lane.due_at = NEVER
        turns.push({ webhook_id, places })
      }
      // To the end of the line: when places are short, everybody gets a turn.
      for (const { webhook_id } of turns) {
        const lane = laneOf(webhook_id)
        lanes.delete(webhook_id)
        lanes.set(webhook_id, lane)
      }
      return turns
    },

    looked({ webhook_id, places }, started) {
      const lane = laneOf(webhook_id)
      free += places - started
      lane.looking = false
      lane.under_way += started
      forgetIdle(webhook_id, lane)
    },

    judge(webhook_id, failing) {
      laneOf(webhook_id).failing = failing
    },

    ended(webhook_id) {
      const lane = laneOf(webhook_id)
      free++
      lane.under_way--
      forgetIdle(webhook_id, lane)
    },

    nextTurn(now) {
      let next = NEVER
      for (const { due_at } of lanes.values()) if (due_at > now && due_at < next) next = due_at
      return next
    },
  }
}
