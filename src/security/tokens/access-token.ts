import { z } from 'zod'
import type { Permission } from '../permissions.ts'
import { type RefusedToken, refuse, Subject } from './bearer-token.ts'

/** `expires_at` is in epoch milliseconds. Null if the provider doesn't say. */
export type AccessGrant = {
  ok: true
  issuer: string
  subject: string
  permissions: readonly Permission[]
  expires_at: number | null
}

/** The last second of the year 9999. RFC 3339 can't express a later time. */
const LAST_SECOND = 253_402_300_799

const Scopes = z.union([z.string().transform((text) => text.split(' ')), z.array(z.string())])

export const AccessClaims = z.object({
  iss: z.string().optional(),
  aud: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  exp: z.int().max(LAST_SECOND).optional(),
  nbf: z.number().optional(),
  sub: Subject.optional(),
  client_id: Subject.optional(),
  azp: Subject.optional(),
  scope: Scopes.optional(),
  scp: Scopes.optional(),
})
export type AccessClaims = z.infer<typeof AccessClaims>

const PERMISSION_OF_SCOPE: ReadonlyMap<string, Permission> = new Map([
  ['read:agents', 'read'],
  ['invoke:agents', 'invoke'],
  ['write:agents', 'write'],
  ['delete:agents', 'delete'],
  ['manage:agents', 'manage'],
  ['approve:agents', 'approve'],
])

const ID_TOKEN_MARKS = ['nonce', 'at_hash', 'c_hash', 's_hash']

/**
 * Refuses tokens that aren't access tokens, because ID tokens can have our clientId as audience, and refresh tokens can
 * be active. It refuses any other `typ`, the marks of an ID token on anything that isn't typed `at+jwt`, and the kinds
 * that Cognito, Hydra (`token_use`) and Keycloak (`typ`) name in the claims. It also refuses tokens that are bound to a
 * key (`cnf`, `token_type` DPoP), because we see no proof of that key.
 */
export function mayBeAccessToken(claims: Record<string, unknown>, typ: unknown): boolean {
  if (typ !== undefined && !isTypedAccessToken(typ) && mediaType(typ) !== 'jwt') return false
  if (!isTypedAccessToken(typ) && ID_TOKEN_MARKS.some((mark) => claims[mark] !== undefined)) return false
  if (claims.cnf !== undefined) return false
  return (
    isOneOf(claims.token_use, ['access', 'access_token']) &&
    isOneOf(claims.typ, ['bearer']) &&
    isOneOf(claims.token_type, ['bearer', 'access_token'])
  )
}

export function isTypedAccessToken(typ: unknown): boolean {
  return mediaType(typ) === 'at+jwt'
}

/**
 * What verified claims allow. If `scopes` is set, only the agent scopes in it count, and every other scope in it must
 * be in each token. Without `scopes`, all agent scopes count.
 */
export function accessGrant(options: {
  claims: AccessClaims
  issuer: string
  scopes: readonly string[] | undefined
  time: number
}): AccessGrant | RefusedToken {
  const { claims, issuer, scopes, time } = options
  const expires_at = claims.exp === undefined ? null : claims.exp * 1000
  if (expires_at !== null && expires_at <= time) return refuse('expired')
  const subject = claims.sub ?? claims.client_id ?? claims.azp
  if (subject === undefined) return refuse('bad_claims')
  const carried = new Set([...(claims.scope ?? []), ...(claims.scp ?? [])])
  const counted = [...carried].filter((scope) => scopes === undefined || scopes.includes(scope))
  const permissions = counted.flatMap((scope) => PERMISSION_OF_SCOPE.get(scope) ?? [])
  const required = (scopes ?? []).filter((scope) => !PERMISSION_OF_SCOPE.has(scope))
  if (permissions.length === 0 || !required.every((scope) => carried.has(scope))) return refuse('forbidden')
  return { ok: true, issuer, subject, permissions, expires_at }
}

function mediaType(typ: unknown): string | undefined {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : undefined
}

function isOneOf(value: unknown, allowed: readonly string[]): boolean {
  return value === undefined || (typeof value === 'string' && allowed.includes(value.toLowerCase()))
}
