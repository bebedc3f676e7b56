import { z } from 'zod'
import type { Key } from '../keys/key.ts'
import { Time } from '../shapes.ts'
import type { Tables } from '../storage/tables.ts'

export const ConsoleSessionReply = z
  .object({
    id: z.string(),
    key_id: z.string().nullable(),
    key_name: z.string().nullable(),
    person_id: z.string().nullable().describe('The person who signed in; null if a key was used'),
    person_name: z.string().nullable(),
    issuer: z.string().nullable().describe("The identity provider's name in the configuration"),
    agent_id: z.string().nullable().describe('The agent that the key is limited to'),
    address: z.string().describe('The IP address of the sign-in'),
    browser: z.string().describe("The browser's user agent"),
    current: z.boolean().describe('Whether this request uses the session'),
    created_at: Time,
    last_used_at: Time.describe('Accurate to the minute'),
    expires_at: Time.describe('When the session expires. It expires earlier if it is not used'),
  })
  .meta({ id: 'ConsoleSession' })

/** A browser in which a key or a person is signed in. Its secret is in a cookie and is replaced regularly. */
export type ConsoleSession = Tables['console_sessions']

const ROTATE_MS = 15 * 60_000
/** Requests that were sent before the browser had the new secret may arrive up to this long after it. */
const GRACE_MS = 60_000
/** The accuracy of `last_used_at`. */
const TOUCH_MS = 60_000

/** When the session ends if it isn't used again. `key` is the key with which it was opened, if any. */
export function endOf(session: ConsoleSession, key: Key | undefined, idle_ms: number): number {
  const { expires_at, last_used_at, key_hash, confirm_before } = session
  if (key && (key_hash !== key.hash || key.revoked_at !== null)) return 0
  const ends = [expires_at, last_used_at + idle_ms, key?.expires_at, confirm_before]
  return Math.min(...ends.filter((end) => typeof end === 'number'))
}

/**
 * Whether the secret with this hash is valid now. The previous secret is valid until a minute after the browser first used
 * the new one.
 */
export function isSecretInForce({ hash, confirmed_at }: ConsoleSession, shown: string, now: number): boolean {
  return shown === hash || confirmed_at === null || now < confirmed_at + GRACE_MS
}

type Changes = Partial<Pick<ConsoleSession, 'last_used_at' | 'confirmed_at' | 'rotated_at' | 'hash' | 'previous_hash'>>

/**
 * What to write when a secret is used. Undefined for most uses. `renew` makes the hash of a new secret. If the changes
 * contain `hash`, the browser must be sent that secret.
 */
export function useOf(session: ConsoleSession, shown: string, now: number, renew: () => string): Changes | undefined {
  const { hash, confirmed_at, rotated_at, last_used_at } = session
  const replaced = () => ({ hash: renew(), rotated_at: now, confirmed_at: null, last_used_at: now })
  if (shown === hash) {
    if (confirmed_at === null) return { confirmed_at: now, last_used_at: now }
    if (now - rotated_at >= ROTATE_MS) return { ...replaced(), previous_hash: hash }
  } else if (confirmed_at === null && now - rotated_at >= GRACE_MS) {
    // The reply with the new secret was lost, because the browser still sends the previous one.
    return replaced()
  }
  return now - last_used_at >= TOUCH_MS ? { last_used_at: now } : undefined
}
