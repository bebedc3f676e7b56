import type { ProtectedHeaderParameters } from 'jose'
import { z } from 'zod'
import { lazily } from '../../lib/lazily.ts'
import { ONE_LINE } from '../../lib/text/text.ts'

/**
 * Why a token was refused. `forbidden` means that it is genuine but allows nothing here, and `unavailable` that it
 * couldn't be checked. All other reasons mean that it isn't valid.
 */
export type TokenRefusal =
  | 'malformed'
  | 'unsupported'
  | 'unknown_key'
  | 'bad_signature'
  | 'bad_claims'
  | 'wrong_type'
  | 'wrong_issuer'
  | 'wrong_audience'
  | 'not_yet_valid'
  | 'expired'
  | 'inactive'
  | 'forbidden'
  | 'unavailable'

/** `detail` is for the log, never for the client. */
export type RefusedToken = { ok: false; reason: TokenRefusal; detail?: string }

/** Thrown if the identity provider can't be asked. */
export class Unavailable extends Error {}

/** Checks signatures. A service that accepts only API keys doesn't load it. */
export const jose = lazily<typeof import('jose')>('jose')

export const CLOCK_SKEW_SECONDS = 30

/** The subject of a token. It is stored and logged, so it can't contain control characters or half characters. */
export const Subject = z
  .string()
  .min(1)
  .max(256)
  .regex(ONE_LINE)
  .refine((text) => text.isWellFormed())

const MAX_TOKEN_LENGTH = 8192
const BEARER_FORM = /^[A-Za-z0-9\-._~+/]+=*$/
const COMPACT_FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

/** Headers that let a token bring or name its own key, or that require something we don't implement. */
const REFUSED_HEADERS = ['jwk', 'jku', 'x5u', 'x5c', 'crit']

export function refuse(reason: TokenRefusal, detail?: string): RefusedToken {
  return detail === undefined ? { ok: false, reason } : { ok: false, reason, detail }
}

export function isBearerToken(token: string): boolean {
  return token.length <= MAX_TOKEN_LENGTH && BEARER_FORM.test(token)
}

export function hasFormOfJwt(token: string): boolean {
  return COMPACT_FORM.test(token)
}

/** The header of a compact JWS. Undefined if the token isn't one. */
export function jwsHeader(token: string): ProtectedHeaderParameters | undefined {
  if (token.length > MAX_TOKEN_LENGTH || !hasFormOfJwt(token)) return undefined
  try {
    return jose().decodeProtectedHeader(token)
  } catch {
    return undefined
  }
}

/**
 * The issuer that a token claims, not verified. It is used only to decide which provider not to ask about the token.
 */
export function claimedIssuer(token: string): string | undefined {
  if (jwsHeader(token) === undefined) return undefined
  try {
    const { iss } = jose().decodeJwt(token)
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined
  }
}

export function isAcceptableHeader(header: ProtectedHeaderParameters, algorithms: readonly string[]): boolean {
  if (REFUSED_HEADERS.some((name) => Object.hasOwn(header, name))) return false
  return typeof header.alg === 'string' && algorithms.includes(header.alg)
}

/** Converts a verification error into a refusal. Errors that aren't about the token are thrown again. */
export function refusalOf(error: unknown): RefusedToken {
  const { errors } = jose()
  if (error instanceof Unavailable) return refuse('unavailable', error.message)
  if (error instanceof errors.JWTExpired) return refuse('expired')
  if (error instanceof errors.JWTClaimValidationFailed) return refuse(CLAIM_REFUSALS[error.claim] ?? 'bad_claims')
  if (error instanceof errors.JWSSignatureVerificationFailed) return refuse('bad_signature')
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return refuse('malformed')
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return refuse('unknown_key')
  }
  // jose reports a published key that is too short or broken as a TypeError.
  if (error instanceof errors.JOSEError || error instanceof TypeError) return refuse('unsupported', error.message)
  throw error
}

const CLAIM_REFUSALS: Readonly<Record<string, TokenRefusal>> = {
  iss: 'wrong_issuer',
  aud: 'wrong_audience',
  nbf: 'not_yet_valid',
}
