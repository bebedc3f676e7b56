const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** How long to wait after the first, second, … failed attempt. After the last one, the delivery has failed. */
const RETRY_AFTER_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]
const JITTER = 0.2
/** The longest wait that a receiver can ask for. */
const LONGEST_WAIT_MS = 24 * HOUR

/**
 * When to try again after `tries` failures, or null for never. `asked_ms` is the wait in the receiver's Retry-After
 * header.
 */
export function retryAt(tries: number, asked_ms: number, now: number, random: () => number): number | null {
  const planned = RETRY_AFTER_MS[tries - 1]
  if (planned === undefined) return null
  const jittered = planned * (1 - JITTER + 2 * JITTER * random())
  return now + Math.round(Math.max(jittered, Math.min(asked_ms, LONGEST_WAIT_MS)))
}

const FAILING_LIMIT_MS = 5 * 24 * HOUR

/** Whether a webhook has failed for five days without a success, and is given up. */
export function hasFailedTooLong(failing_since: number, now: number): boolean {
  return now - failing_since >= FAILING_LIMIT_MS
}
