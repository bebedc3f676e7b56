import type { Config } from '../config.ts'
import { ApiError } from '../errors.ts'
import type { Actor } from '../operation.ts'
import type { Decision, RateLimiter } from '../security/rate-limiter.ts'
import type { Exchange } from './exchange.ts'

/** Counts every authenticated request against its key's tier, and says in headers what is left. */
export function rateLimit(limiter: RateLimiter, { tiers, defaultTier }: Config['limits']) {
  return (exchange: Exchange): void | Promise<void> => {
    const actor = exchange.actor as Actor
    const tier = tiers[actor.tier] ?? tiers[defaultTier]
    if (!tier) return
    const decision = limiter.take(`key:${actor.id}`, { perMinute: tier.requestsPerMinute, burst: tier.burst })
    if (decision instanceof Promise) return decision.then((later) => apply(exchange, later, tier.requestsPerMinute))
    apply(exchange, decision, tier.requestsPerMinute)
  }
}

function apply({ headers }: Exchange, { allowed, remaining, reset_at, retry_after_ms }: Decision, limit: number): void {
  headers['X-RateLimit-Limit'] = String(limit)
  headers['X-RateLimit-Remaining'] = String(Math.min(remaining, limit))
  headers['X-RateLimit-Reset'] = String(Math.ceil(reset_at / 1000))
  if (allowed) return
  const retry_after = Math.max(1, Math.ceil(retry_after_ms / 1000))
  throw new ApiError('rate_limited', `Rate limit exceeded, try again in ${retry_after} s`, { retry_after })
}
