import type { Config } from '../config.ts'
import { forbidden } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import { covers, type Permission } from '../security/permissions.ts'

type Grant = { permissions: readonly Permission[]; tier: string; expires_at: number | null }

/** Nobody hands out more than they hold; whoever sits at the host may. */
export function requireNoEscalation(actor: Actor, wanted: Grant, { limits }: Config): void {
  if (actor.kind === 'local') return
  const rate = (tier: string) => limits.tiers[tier]?.requestsPerMinute ?? 0
  if (!covers(actor.permissions, wanted.permissions)) throw forbidden('A key cannot grant permissions it does not hold')
  if (rate(wanted.tier) > rate(actor.tier)) throw forbidden('A key cannot grant a higher tier than its own')
  if (actor.expires_at !== null && (wanted.expires_at === null || wanted.expires_at > actor.expires_at)) {
    throw forbidden('A key cannot create one that outlives it')
  }
}
