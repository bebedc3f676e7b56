import { LRUCache } from 'lru-cache'

/** Allows `perMinute` requests, and up to `burst` requests at once. */
export type Rate = { perMinute: number; burst: number }

export type Decision = {
  allowed: boolean
  /** How many further requests would be allowed now. */
  remaining: number
  /** When the whole burst is available again, in epoch milliseconds. */
  reset_at: number
  /** How long to wait for the next request. 0 if this one is allowed. */
  retry_after_ms: number
}

export type RateLimiter = {
  take(key: string, rate: Rate): Promise<Decision>
  /** Undoes a `take` that was allowed. */
  giveBack(key: string, rate: Rate): Promise<void>
  close(): Promise<void>
}

export const MINUTE = 60_000
/** The most buckets that are kept. The least recently used ones are dropped, so their keys get a full burst again. */
const MAX_BUCKETS = 200_000

/** If a bucket needs longer than a whole burst plus this time to fill, it was written before the clock was set back. */
export const CLOCK_JUMP = 10_000

/** Implements GCRA. For each key, it keeps the time at which the bucket would be full again. */
export function localLimiter(now: () => number): RateLimiter {
  // With `max`, the memory for all buckets would be allocated at once.
  const fullAt = new LRUCache<string, number>({ maxSize: MAX_BUCKETS })

  return {
    async take(key, { perMinute, burst }) {
      const time = now()
      const interval = MINUTE / perMinute
      const latest = time + burst * interval
      const stored = fullAt.get(key) ?? 0
      const start = stored > latest + CLOCK_JUMP ? time : Math.min(Math.max(stored, time), latest)
      const decision = decide({ start, time, interval, burst, index: 0 })
      if (decision.allowed) {
        fullAt.set(key, start + interval, { size: 1 })
      }
      return decision
    },
    async giveBack(key, { perMinute }) {
      const stored = fullAt.get(key)
      if (stored !== undefined) fullAt.set(key, stored - MINUTE / perMinute, { size: 1 })
    },
    async close() {
      fullAt.clear()
    },
  }
}

type Moment = {
  start: number
  time: number
  interval: number
  burst: number /** Requests decided before it. */
  index: number
}

/** Decides about one of several requests that arrived at the same moment. */
export function decide({ start, time, interval, burst, index }: Moment): Decision {
  // Includes a small tolerance, so rounding doesn't lose one of the 100 intervals of a burst.
  const room = Math.floor((time + burst * interval - start) / interval + 1e-6)
  const allowed = index < room
  const taken = Math.min(index + 1, room)
  return {
    allowed,
    remaining: room - taken,
    reset_at: Math.ceil(start + taken * interval),
    retry_after_ms: allowed ? 0 : Math.max(1, Math.ceil(start + (room + 1) * interval - burst * interval - time)),
  }
}
