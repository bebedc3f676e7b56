import { HOTP, Secret, TOTP } from 'otpauth'
import { constantTimeEqual } from './digest.ts'

/** What is stored in addition to the encrypted secret. Times are epoch milliseconds, steps are units of 30 s. */
export type FactorState = {
  last_step: number | null
  wrong_codes: number
  locked_until: number | null
}

export type CodeResult = { ok: true; step: number } | { ok: false; reason: 'wrong' | 'reused' }

export type AttemptResult = CodeResult | { ok: false; reason: 'locked'; retry_after_ms: number }

export const NEW_FACTOR_STATE: FactorState = { last_step: null, wrong_codes: 0, locked_until: null }

const STEP_SECONDS = 30
const SECRET_BYTES = 20
const DIGITS = 6
const MAX_WRONG_CODES = 5
const LOCK_MS = 5 * 60_000

/**
 * Makes a new factor. `secret` is in base32 for typing, and `uri` is for the QR code. SHA-1 and six digits work in
 * every app.
 */
export function newFactor(options: { label: string; random: (bytes: number) => Uint8Array }): {
  secret: string
  uri: string
} {
  const secret = new Secret({ buffer: Uint8Array.from(options.random(SECRET_BYTES)).buffer })
  const totp = new TOTP({ issuer: 'Moorage', label: options.label, secret, digits: DIGITS, period: STEP_SECONDS })
  return { secret: secret.base32, uri: totp.toString() }
}

export function stepAt(time: number): number {
  return Math.floor(time / 1000 / STEP_SECONDS)
}

export function codeAt(options: { secret: string; step: number; digits?: number }): string {
  return HOTP.generate({
    secret: Secret.fromBase32(options.secret),
    counter: options.step,
    digits: options.digits ?? DIGITS,
  })
}

/**
 * Accepts the code of this step and of the steps directly before and after it, because clocks differ. The step must be
 * later than the last accepted one, so each code works only once and older codes don't work.
 */
export function verifyCode(options: {
  secret: string
  code: string
  last_step: number | null
  now: number
}): CodeResult {
  const current = stepAt(options.now)
  const matching = [current - 1, current, current + 1].filter(
    (step) => step >= 0 && constantTimeEqual(codeAt({ secret: options.secret, step }), options.code),
  )
  const unused = matching.find((step) => step > (options.last_step ?? -1))
  if (unused !== undefined) return { ok: true, step: unused }
  return { ok: false, reason: matching.length > 0 ? 'reused' : 'wrong' }
}

/**
 * Tries a code. Returns the answer and the state to store. A used code doesn't count towards the lock, and the answer
 * tells a guesser nothing. While the factor is locked, codes aren't checked, so they can neither succeed nor prolong
 * the lock. The store must write the new state only if the old one has not changed, because otherwise two requests
 * could use the same code.
 */
export function attemptCode(options: { secret: string; state: FactorState; code: string; now: number }): {
  result: AttemptResult
  state: FactorState
} {
  const { secret, state, code, now } = options
  if (state.locked_until !== null && now < state.locked_until) {
    return { result: { ok: false, reason: 'locked', retry_after_ms: state.locked_until - now }, state }
  }

  const result = verifyCode({ secret, code, last_step: state.last_step, now })
  if (result.ok) return { result, state: { last_step: result.step, wrong_codes: 0, locked_until: null } }
  if (result.reason === 'reused') return { result, state }

  const wrong_codes = (state.locked_until === null ? state.wrong_codes : 0) + 1
  const locked_until = wrong_codes >= MAX_WRONG_CODES ? now + LOCK_MS : null
  return { result, state: { last_step: state.last_step, wrong_codes, locked_until } }
}
