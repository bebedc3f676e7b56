/** A webhook's place in the order of service. */
type Lane = {
  /** When to look what it has to send. Only ever brought forward, so that no wake-up is lost while somebody looks. */
  due_at: number
  /** Somebody looks at this moment. */
  looking: boolean
  under_way: number
  /** Deliveries have ended, and how is still to be written down. */
  reporting: boolean
  failing: boolean
}

/** A webhook to look at now, and how many of its deliveries may start; none if it only has to report. */
export type Turn = { webhook_id: string; places: number }

export type Lanes = {
  /** The webhook has something to send at this time, or earlier. */
  bringForward(webhook_id: string, due_at: number): void
  /** Whose turn it is; the places are set aside until `looked`. */
  turns(now: number): Turn[]
  /** Ends a turn: so many deliveries have started. */
  looked(turn: Turn, started: number): void
  /** One delivery that had started is over; the webhook gets a turn to report it. */
  ended(webhook_id: string): void
  /** Whether the receiver's last attempt failed. */
  judge(webhook_id: string, failing: boolean): void
  /** When the next turn comes by time alone; Infinity when only an event can bring one. */
  nextTurn(now: number): number
  /** From now on turns are for reports only. */
  close(): void
}

const NEVER = Number.POSITIVE_INFINITY

/**
 * Each webhook has a lane of its own, so that nobody waits behind another's queue: a few deliveries at a time, one while
 * its receiver fails, and all failing receivers together hold at most half of the places.
 */
export function createLanes({ maxInFlight, maxPerEndpoint }: { maxInFlight: number; maxPerEndpoint: number }): Lanes {
  const lanes = new Map<string, Lane>()
  let free = maxInFlight
  let closed = false

  const laneOf = (webhook_id: string): Lane => {
    const known = lanes.get(webhook_id)
    if (known) return known
    const lane = { due_at: NEVER, looking: false, under_way: 0, reporting: false, failing: false }
    lanes.set(webhook_id, lane)
    return lane
  }

  const placesFor = ({ due_at, under_way, failing }: Lane, now: number, forFailing: number): number => {
    if (closed || due_at > now) return 0
    const own = (failing ? 1 : maxPerEndpoint) - under_way
    return Math.max(0, Math.min(own, free, failing ? forFailing : free))
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
      // Who has least under way comes first, and among equals who has waited longest.
      const waiting = [...lanes].filter(([, lane]) => !lane.looking && (lane.reporting || lane.due_at <= now))
      for (const [webhook_id, lane] of waiting.toSorted(([, a], [, b]) => a.under_way - b.under_way)) {
        const places = placesFor(lane, now, forFailing)
        if (places === 0 && !lane.reporting) continue
        free -= places
        if (lane.failing) forFailing -= places
        if (places > 0) lane.due_at = NEVER
        lane.looking = true
        lane.reporting = false
        lanes.delete(webhook_id)
        lanes.set(webhook_id, lane)
        turns.push({ webhook_id, places })
      }
      return turns
    },

    looked({ webhook_id, places }, started) {
      const lane = laneOf(webhook_id)
      free += places - started
      lane.looking = false
      lane.under_way += started
      if (lane.due_at === NEVER && lane.under_way === 0 && !lane.reporting) lanes.delete(webhook_id)
    },

    ended(webhook_id) {
      const lane = laneOf(webhook_id)
      free++
      lane.under_way--
      lane.reporting = true
    },

    judge(webhook_id, failing) {
      laneOf(webhook_id).failing = failing
    },

    nextTurn(now) {
      let next = NEVER
      for (const { due_at } of lanes.values()) if (due_at > now && due_at < next) next = due_at
      return next
    },

    close() {
      closed = true
    },
  }
}
