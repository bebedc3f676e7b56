import type { Config } from '../../../config.ts'
import { ApiError } from '../../../errors.ts'
import type { ProjectSnapshot } from '../../../operation/project-snapshot.ts'
import type { Gate } from '../../../security/gate.ts'
import type { Decision, RateLimiter } from '../../../security/limits/rate-limiter.ts'
import type { Arrived, Known } from '../request.ts'

/** Counts an authenticated request against the tier of its actor, and says in headers what is left. */
export async function countRequest(
  { arrived, actor }: Known,
  limiter: RateLimiter,
  { tiers, defaultTier }: Config['limits'],
): Promise<void> {
  const name = Object.hasOwn(tiers, actor.tier) ? actor.tier : defaultTier
  const tier = tiers[name]
  if (!tier) return
  const { requestsPerMinute, burst } = tier
  const decision = await limiter.take(`key:${actor.id}`, { perMinute: requestsPerMinute, burst })
  const reason = () => `tier ${name} has ${requestsPerMinute} requests a minute (limits.tiers.${name})`
  apply(arrived, decision, requestsPerMinute, reason)
}

/** Counts a request against the limit of its project, which all callers of the project share. */
export async function takeFromProject(
  arrived: Arrived,
  project: ProjectSnapshot | undefined,
  limiter: RateLimiter,
): Promise<void> {
  const limit = project?.limits.requests_per_minute ?? null
  if (!project || limit === null) return
  const decision = await limiter.take(`project:${project.id}`, { perMinute: limit, burst: limit })
  apply(arrived, decision, limit, () => `the project has ${limit} requests a minute (limits of the project)`)
}

/** Counts a request against the limit that the service or an agent sets for all its callers together. */
export async function takeFromGate(
  arrived: Arrived,
  { rate }: Gate,
  { bucket, whose }: { bucket: string; whose: string },
  limiter: RateLimiter,
): Promise<void> {
  if (!rate) return
  const reason = () => `${whose} has ${rate.limit} requests for all callers together (security.rateLimit)`
  apply(arrived, await limiter.take(bucket, rate), rate.limit, reason)
}

/** When several limits apply, the headers show the one with the least left. The error names the limit and its setting. */
function apply(arrived: Arrived, decision: Decision, limit: number, reason: () => string): void {
  const { allowed, remaining, reset_at, retry_after_ms } = decision
  if (allowed && arrived.rate && arrived.rate.remaining <= remaining) return
  arrived.rate = decision
  const { headers } = arrived
  headers['X-RateLimit-Limit'] = String(limit)
  headers['X-RateLimit-Remaining'] = String(Math.min(remaining, limit))
  headers['X-RateLimit-Reset'] = String(Math.ceil(reset_at / 1000))
  if (allowed) return
  const retry_after = Math.max(1, Math.ceil(retry_after_ms / 1000))
  throw new ApiError('rate_limited', `Rate limit exceeded: ${reason()}, try again in ${retry_after} s`, { retry_after })
}
