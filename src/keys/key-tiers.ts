import type { Config } from '../config.ts'
import type { Actor } from '../operation/actor.ts'

type Limits = Config['limits']

/** Whether the actor may give a key this tier: one that is faster than its own in no respect. */
export function mayGiveTier({ kind, tier: held }: Actor, wanted: string, limits: Limits): boolean {
  if (kind === 'local') return true
  const [above, below] = [ratesOf(wanted, limits), ratesOf(held, limits)]
  if (!above || !below) return false
  return above.requestsPerMinute <= below.requestsPerMinute && above.burst <= below.burst
}

/** The tier of a key that names none: the configured one, or the maker's own where that one is more than it may give. */
export function defaultTierFor(actor: Actor, limits: Limits): string {
  return mayGiveTier(actor, limits.defaultTier, limits) ? limits.defaultTier : actor.tier
}

/** A tier that is not configured any more counts as the default one, as it does for requests. */
function ratesOf(name: string, { tiers, defaultTier }: Limits) {
  return tiers[name] ?? tiers[defaultTier]
}
