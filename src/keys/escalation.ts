import type { Config } from '../config.ts'
import { forbidden } from '../errors.ts'
import { type Actor, endOfRight } from '../operation/actor.ts'
import { coversAll, type Permission } from '../security/permissions.ts'
import { mayGiveTier } from './key-tiers.ts'

type Grant = { permissions: readonly Permission[]; tier: string; expires_at: number | null }

/** An actor can grant no more than it has. The command line on the host can grant everything. */
export function requireNoEscalation(actor: Actor, wanted: Grant, { limits }: Config): void {
  if (actor.kind === 'local') return
  if (!coversAll(actor.permissions, wanted.permissions))
    throw forbidden("A key can't grant permissions that it doesn't have.")
  if (!mayGiveTier(actor, wanted.tier, limits)) throw forbidden("A key can't grant a higher tier than its own.")
  if (actor.kind === 'token' && actor.expires_at === null) {
    throw forbidden('This token has no expiry time, so a key could outlive it. Use an API key.')
  }
  if ((wanted.expires_at ?? Number.POSITIVE_INFINITY) <= endOfRight(actor)) return
  if (actor.by_previous_secret_until === undefined)
    throw forbidden("The new key can't expire later than the key that creates it.")
  throw forbidden("This secret has been rotated and can't create keys. Use the new secret.")
}
