import type { Permission, Roles } from '../permissions.ts'
import type { AuthSettings } from '../security-settings.ts'
import { claimedIssuer, type RefusedToken, refuse } from './bearer-token.ts'
import { type ProviderFetch, withoutSlash } from './identity-provider.ts'
import { jwtVerifier } from './jwt.ts'
import { oauth2Verifier } from './oauth2.ts'

/**
 * What a bearer token that isn't an API key grants. `user_id` is set if the token is for one user of an application.
 */
export type TokenGrant = {
  ok: true
  issuer: string
  subject: string
  user_id?: string
  permissions: readonly Permission[]
  expires_at: number | null
}

export type VerifyToken = (token: string) => Promise<TokenGrant | RefusedToken>

/** Makes the verifier for an `auth` block. It caches what the provider publishes, so make it only once. */
export function tokenVerifier(
  auth: AuthSettings,
  { roles, fetch, now }: { roles: Roles; fetch: ProviderFetch; now: () => number },
): VerifyToken {
  if (auth.type === 'jwt') {
    const verify = jwtVerifier({ secret: auth.secret, issuer: auth.issuer, audience: auth.audience, roles, now })
    // An issuer that isn't configured isn't verified, so it can't be part of the actor's name.
    return async (token) => {
      const grant = await verify(token)
      return grant.ok ? { ...grant, issuer: auth.issuer ?? 'jwt' } : grant
    }
  }
  const verify = oauth2Verifier({ ...auth, introspection: auth.introspection === 'always', fetch, now })
  const provider = withoutSlash(auth.provider)
  return async (token) => {
    // A token from another issuer must not be sent to this provider.
    const issuer = claimedIssuer(token)
    if (issuer !== undefined && withoutSlash(issuer) !== provider) return refuse('wrong_issuer')
    return verify(token)
  }
}
