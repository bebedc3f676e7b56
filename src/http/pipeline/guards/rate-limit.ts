import type { Config } from '../../../config.ts'
import { ApiError } from '../../../errors.ts'
import type { Actor } from '../../../operation/actor.ts'
import type { Gate } from '../../../security/gate.ts'
import type { Rate, RateLimiter } from '../../../security/limits/rate-limiter.ts'
import type { Edge } from '../edge.ts'
import type { Arrived, Known } from '../request.ts'

/**
 * Counts a request, or a further call in it: against the tier of its actor, its project and the service. Finds the agent
 * that the path names.
 */
export async function countRequest(edge: Edge, known: Known): Promise<Known> {
  const { arrived, actor } = known
  const { run, scope } = actor
  const { config, findProject, limiter } = edge.parts
  if (run && arrived.route?.operation.isLimitedByRun && (await edge.isUnderWay(run))) return known
  await takeFromTier(arrived, actor, limiter, config.limits)
  const ref = arrived.params['agent_id']
  const agent = known.agent ?? (ref === undefined ? undefined : await edge.findAgent(scope.project_id, ref))
  const project = agent?.project ?? (await findProject(scope.project_id))
  const limit = project?.limits.requests_per_minute ?? null
  if (project && limit !== null) {
    const reason = () => `the project has ${limit} requests a minute (limits of the project)`
    const rate = { perMinute: limit, burst: limit }
    await take(arrived, limiter, { bucket: `project:${project.id}`, rate, limit, reason })
  }
  const { gate } = edge.service
  if (gate.rate) await takeFromGate(arrived, gate.rate, { bucket: 'service', whose: 'the service' }, limiter)
  return { arrived, actor, agent }
}

/** Counts a request against the tier of its actor. */
export async function takeFromTier(
  arrived: Arrived,
  actor: Actor,
  limiter: RateLimiter,
  { tiers, defaultTier }: Config['limits'],
): Promise<void> {
  const name = Object.hasOwn(tiers, actor.tier) ? actor.tier : defaultTier
  const tier = tiers[name]
  if (!tier) return
  const { requestsPerMinute: limit, burst } = tier
  const reason = () => `tier ${name} has ${limit} requests a minute (limits.tiers.${name})`
  await take(arrived, limiter, { bucket: `key:${actor.id}`, rate: { perMinute: limit, burst }, limit, reason })
}

/** Counts a request against the limit that the service or an agent sets for all its callers together. */
export async function takeFromGate(
  arrived: Arrived,
  rate: NonNullable<Gate['rate']>,
  { bucket, whose }: { bucket: string; whose: string },
  limiter: RateLimiter,
): Promise<void> {
  const { limit } = rate
  const reason = () => `${whose} has ${limit} requests for all callers together (security.rateLimit)`
  await take(arrived, limiter, { bucket, rate, limit, reason })
}

type RateLimit = { bucket: string; rate: Rate; limit: number; reason(): string }

/** When several limits apply, the headers show the one with the least left. The error names the limit and its setting. */
async function take(arrived: Arrived, limiter: RateLimiter, { bucket, rate, limit, reason }: RateLimit): Promise<void> {
  const decision = await limiter.take(bucket, rate)
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
