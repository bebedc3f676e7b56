import { z } from 'zod'
import { parseIfJson } from '../../../lib/json.ts'
import type { Keyring } from '../../../security/keyring.ts'
import type { ArrivedRequest } from '../../pipeline/request.ts'

const PURPOSE = 'console.sign_in'
const LIFETIME_SECONDS = 600
const STATE = /^[\w-]{16,200}$/

const Attempt = z.object({
  issuer: z.string(),
  checks: z.object({ state: z.string(), nonce: z.string(), verifier: z.string() }),
  /** The console page to which the browser goes afterwards. */
  to: z.string(),
  invitation: z.string().optional(),
  /** The secret of the session that the browser had before. */
  earlier: z.string().optional(),
  expires_at: z.number(),
})

/** A sign-in that has started. Its browser keeps it in an encrypted cookie, so no other browser can finish it. */
export type SignInAttempt = z.output<typeof Attempt>

type SealNeeds = { keyring: Keyring; now(): number }

/** The cookie for a sign-in that begins. It is `Lax`, so the browser sends it when the provider redirects back. */
export function attemptCookie(
  arrived: ArrivedRequest,
  attempt: Omit<SignInAttempt, 'expires_at'>,
  { keyring, now }: SealNeeds,
): string {
  const sealed = keyring.encrypt(JSON.stringify({ ...attempt, expires_at: now() + LIFETIME_SECONDS * 1000 }), PURPOSE)
  return `${nameOf(arrived, attempt.checks.state)}=${sealed}${attributesOf(arrived)}; Max-Age=${LIFETIME_SECONDS}`
}

export function forgetAttempt(arrived: ArrivedRequest, state: string): string {
  return `${nameOf(arrived, state)}=${attributesOf(arrived)}; Max-Age=0`
}

/** The sign-in that this browser began, found by the state that the provider has sent back. */
export function readAttempt(
  arrived: ArrivedRequest,
  state: string,
  { keyring, now }: SealNeeds,
): SignInAttempt | undefined {
  if (!STATE.test(state)) return undefined
  const start = `${nameOf(arrived, state)}=`
  const found = (arrived.message.headers.cookie ?? '').split(';').filter((pair) => pair.trimStart().startsWith(start))
  if (found.length !== 1) return undefined
  try {
    const text = keyring.decrypt(found[0]?.trim().slice(start.length) ?? '', PURPOSE)
    const attempt = Attempt.safeParse(parseIfJson(text)).data
    return attempt && attempt.checks.state === state && attempt.expires_at > now() ? attempt : undefined
  } catch {
    return undefined
  }
}

function attributesOf({ secure }: ArrivedRequest): string {
  return `; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** The cookie's name. It contains part of the state, because several tabs may sign in at the same time. */
function nameOf({ secure }: ArrivedRequest, state: string): string {
  return `${secure ? '__Host-' : ''}moorage-sign-in-${state.slice(0, 12)}`
}
