import type { Config } from '../config.ts'
import type { Actor } from '../operation/actor.ts'

type Limits = Config['limits']

/** Who gives a tier to a key, or to a person's role. */
export type Giver = Pick<Actor, 'kind' | 'tier'>

/** Whether the actor can give this tier: it must not be faster than its own in any respect. */
export function mayGiveTier({ kind, tier: held }: Giver, wanted: string, limits: Limits): boolean {
  if (kind === 'local') return true
  const [above, below] = [ratesOf(wanted, limits), ratesOf(held, limits)]
  if (!above || !below) return false
  return above.requestsPerMinute <= below.requestsPerMinute && above.burst <= below.burst
}

/**
 * The tier of a key without a given tier, and of a role: the configured one, or the giver's own if the giver can't give
 * that one.
 */
export function defaultTierFor(actor: Giver, limits: Limits): string {
  return mayGiveTier(actor, limits.defaultTier, limits) ? limits.defaultTier : actor.tier
}

/** A tier that is no longer configured is treated as the default one, as for requests. */
function ratesOf(name: string, { tiers, defaultTier }: Limits) {
  return tiers[name] ?? tiers[defaultTier]
}
