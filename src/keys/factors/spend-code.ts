import type { Keyring } from '../../security/keyring.ts'
import { type AttemptResult, attemptCode } from '../../security/one-time-code.ts'
import type { Database } from '../../storage/database.ts'
import { FACTOR_PURPOSE, type FactorStatus } from './factor.ts'
import * as factors from './factor-store.ts'

/**
 * Tries a one-time code against a key's factor. Returns undefined if the key has none. The result is stored before the
 * reply, on the condition that the state hasn't changed since it was read. So parallel requests can neither use one
 * code twice nor guess more often than sequential ones.
 */
export async function spendCode(
  db: Database,
  keyring: Keyring,
  { key_id, code, status = 'active', now }: { key_id: string; code: string; status?: FactorStatus; now: number },
): Promise<AttemptResult | undefined> {
  for (;;) {
    const factor = await factors.find(db, key_id, status)
    if (!factor) return undefined
    const { last_step, wrong_codes, locked_until } = factor
    const secret = keyring.decrypt(factor.secret, FACTOR_PURPOSE)
    const { result, state } = attemptCode({ secret, state: { last_step, wrong_codes, locked_until }, code, now })
    if (!result.ok && result.reason !== 'wrong') return result
    if (await factors.updateState(db, factor, state)) return result
  }
}
