import { LRUCache } from 'lru-cache'
import { ApiError } from '../../../errors.ts'
import type { RateLimiter } from '../../../security/limits/rate-limiter.ts'

/** Limits how often one IP address can fail to authenticate. */
export type FailureLimit = {
  /** Counts a failure. Throws if the address has failed too often. */
  count(bucket: string): Promise<void>
  /** Throws while the address is blocked because it has failed too often. */
  refuseBlocked(bucket: string): void
}

const MAX_REMEMBERED = 10_000

export function failureLimit(limiter: RateLimiter, perMinute: number, now: () => number): FailureLimit {
  const rate = { perMinute, burst: perMinute }
  const blockedUntil = new LRUCache<string, number>({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1 })

  return {
    async count(bucket) {
      const { allowed, retry_after_ms } = await limiter.take(`auth:${bucket}`, rate)
      blockedUntil.delete(bucket)
      if (allowed) return
      blockedUntil.set(bucket, now() + retry_after_ms)
      throw tooManyFailures(retry_after_ms)
    },
    refuseBlocked(bucket) {
      const wait = (blockedUntil.get(bucket) ?? 0) - now()
      // The clock may have been set back. No wait is longer than a minute, so longer ones are ignored.
      if (wait > 0 && wait <= 60_000) throw tooManyFailures(wait)
    },
  }
}

function tooManyFailures(wait_ms: number): ApiError {
  return new ApiError('rate_limited', 'Too many failed authentication attempts from this address. Try again later.', {
    retry_after: Math.max(1, Math.ceil(wait_ms / 1000)),
  })
}
