import type { Config } from '../../config.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Gate } from '../../security/gate.ts'
import type { Decision, RateLimiter } from '../../security/limits/rate-limiter.ts'
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

/** The limit that the service or an agent sets for all its callers together. */
export function takeFromGate(
  exchange: Exchange,
  { rate }: Gate,
  bucket: string,
  limiter: RateLimiter,
): void | Promise<void> {
  if (!rate) return
  const decision = limiter.take(bucket, rate)
  if (decision instanceof Promise) return decision.then((later) => apply(exchange, later, rate.limit))
  apply(exchange, decision, rate.limit)
}

/** Of several limits the headers tell the one that is nearest to its end. */
function apply(exchange: Exchange, decision: Decision, limit: number): void {
  const { allowed, remaining, reset_at, retry_after_ms } = decision
  if (allowed && exchange.rate && exchange.rate.remaining <= remaining) return
  exchange.rate = decision
  const { headers } = exchange
  headers['X-RateLimit-Limit'] = String(limit)
  headers['X-RateLimit-Remaining'] = String(Math.min(remaining, limit))
  headers['X-RateLimit-Reset'] = String(Math.ceil(reset_at / 1000))
  if (allowed) return
  const retry_after = Math.max(1, Math.ceil(retry_after_ms / 1000))
  throw new ApiError('rate_limited', `Rate limit exceeded, try again in ${retry_after} s`, { retry_after })
}
