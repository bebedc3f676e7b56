import type { Config } from '../config.ts'
import { forbidden } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import { coversAll, type Permission } from '../security/permissions.ts'

type Grant = { permissions: readonly Permission[]; tier: string; expires_at: number | null }

/** An actor can grant no more than it has. The command line on the host can grant everything. */
export function requireNoEscalation(actor: Actor, wanted: Grant, { limits }: Config): void {
  if (actor.kind === 'local') return
  if (!coversAll(actor.permissions, wanted.permissions))
    throw forbidden('A key cannot grant permissions it does not hold')
  if (isHigher(wanted.tier, actor.tier, limits)) throw forbidden('A key cannot grant a higher tier than its own')
  if (actor.expires_at !== null && (wanted.expires_at === null || wanted.expires_at > actor.expires_at)) {
    throw forbidden('A key cannot create one that outlives it')
  }
}

/**
 * Whether the tier is higher in any respect. A tier that is not configured any more counts as the default one, as it
 * does for requests.
 */
function isHigher(wanted: string, held: string, { tiers, defaultTier }: Config['limits']): boolean {
  const [above, below] = [wanted, held].map((name) => tiers[name] ?? tiers[defaultTier])
  if (!above || !below) return true
  return above.requestsPerMinute > below.requestsPerMinute || above.burst > below.burst
}
