import type { Config } from '../config.ts'
import type { Actor } from '../operation/actor.ts'

type Limits = Config['limits']

/** Who gives a tier to a key, or to the role of a person. */
export type Giver = Pick<Actor, 'kind' | 'tier'>

/** Whether the actor may give this tier: one that is faster than its own in no respect. */
export function mayGiveTier({ kind, tier: held }: Giver, wanted: string, limits: Limits): boolean {
  if (kind === 'local') return true
  const [above, below] = [ratesOf(wanted, limits), ratesOf(held, limits)]
  if (!above || !below) return false
  return above.requestsPerMinute <= below.requestsPerMinute && above.burst <= below.burst
}

/** The tier of a key that names none, and of a role: the configured one, or the giver's own where that one is more than it may give. */
export function defaultTierFor(actor: Giver, limits: Limits): string {
  return mayGiveTier(actor, limits.defaultTier, limits) ? limits.defaultTier : actor.tier
}

/** A tier that is not configured any more counts as the default one, as it does for requests. */
function ratesOf(name: string, { tiers, defaultTier }: Limits) {
  return tiers[name] ?? tiers[defaultTier]
}
