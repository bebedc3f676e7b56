import { createSecretKey } from 'node:crypto'
import type { JWTVerifyOptions } from 'jose'
import { z } from 'zod'
import { defaultRoles, Permission, permissionsOf, type Roles } from '../permissions.ts'
import {
  CLOCK_SKEW_SECONDS,
  isAcceptableHeader,
  jose,
  jwsHeader,
  type RefusedToken,
  refusalOf,
  refuse,
  Subject,
} from './bearer-token.ts'

export type JwtOptions = {
  secret: string
  issuer?: string | undefined
  audience?: string | undefined
  roles?: Roles | undefined
  now: () => number
}

/** `expires_at` in epoch milliseconds. */
export type JwtGrant = {
  ok: true
  user_id: string
  subject: string
  issuer: string | null
  permissions: readonly Permission[]
  expires_at: number
}

export type VerifyJwt = (token: string) => Promise<JwtGrant | RefusedToken>

const ALGORITHMS = ['HS256']
const MIN_SECRET_BYTES = 32
const MAX_LIFETIME_SECONDS = 3600

/**
 * There is only one secret, so `kid` selects nothing. A `kid` that looks like a path or a query is an attack on some
 * look-up.
 */
const PLAIN_KID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

const Claims = z.object({
  user_id: Subject,
  exp: z.int(),
  iat: z.int(),
  sub: Subject.optional(),
  iss: z.string().optional(),
  permissions: z.array(Permission).optional(),
  role: z.string().optional(),
})

/** If no issuer or audience is configured, it isn't checked, because everybody who has the secret is trusted. */
export function jwtVerifier({ secret, issuer, audience, roles = defaultRoles, now }: JwtOptions): VerifyJwt {
  const bytes = Buffer.from(secret)
  if (bytes.length < MIN_SECRET_BYTES) {
    throw new Error(`the JWT secret has ${bytes.length} bytes; HS256 requires at least ${MIN_SECRET_BYTES}`)
  }
  const { jwtVerify } = jose()
  const key = createSecretKey(bytes)
  const expected: JWTVerifyOptions = { algorithms: ALGORITHMS, clockTolerance: CLOCK_SKEW_SECONDS }
  if (issuer !== undefined) expected.issuer = issuer
  if (audience !== undefined) expected.audience = audience

  return async (token) => {
    const header = jwsHeader(token)
    if (!header) return refuse('malformed')
    if (!isAcceptableHeader(header, ALGORITHMS)) return refuse('unsupported')
    if (header.kid !== undefined && !(typeof header.kid === 'string' && PLAIN_KID.test(header.kid))) {
      return refuse('unsupported')
    }

    const time = now()
    let payload: unknown
    try {
      payload = (await jwtVerify(token, key, { ...expected, currentDate: new Date(time) })).payload
    } catch (error) {
      return refusalOf(error)
    }

    return grantOf(payload, roles, time)
  }
}

/** What a token with a valid signature grants. */
function grantOf(payload: unknown, roles: Roles, now: number): JwtGrant | RefusedToken {
  const claims = Claims.safeParse(payload)
  if (!claims.success) return refuse('bad_claims')
  const { user_id, sub, iss, exp, iat, permissions, role } = claims.data
  if (exp * 1000 <= now) return refuse('expired')
  if (iat * 1000 > now + CLOCK_SKEW_SECONDS * 1000) return refuse('not_yet_valid')
  if (exp <= iat || exp - iat > MAX_LIFETIME_SECONDS) return refuse('bad_claims')
  return {
    ok: true,
    user_id,
    subject: sub ?? user_id,
    issuer: iss ?? null,
    permissions: permissions ?? permissionsOf(role ?? 'viewer', roles),
    expires_at: exp * 1000,
  }
}
