import { AccessClaims, type AccessGrant, accessGrant, isTypedAccessToken, mayBeAccessToken } from './access-token.ts'
import {
  CLOCK_SKEW_SECONDS,
  isAcceptableHeader,
  isBearerToken,
  jose,
  jwsHeader,
  type RefusedToken,
  refusalOf,
  refuse,
} from './bearer-token.ts'
import { identityProvider, type ProviderFetch } from './identity-provider.ts'
import { introspector } from './introspection.ts'

export type OAuth2Options = {
  /** The issuer's identifier. Its metadata is at a path under this URL. */
  provider: string
  clientId: string
  clientSecret?: string | undefined
  /** The agent scopes that count, or all if absent. Any other scope in it must be in every token. */
  scopes?: readonly string[] | undefined
  /** Whether to ask the provider about every token, not only about those that its keys can't verify. */
  introspection?: boolean | undefined
  fetch: ProviderFetch
  now: () => number
}

export type VerifyOAuth2 = (token: string) => Promise<AccessGrant | RefusedToken>

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']

/**
 * Converts an access token into permissions, as an OAuth 2.0 resource server does. A JWT is verified with the
 * provider's keys. An opaque token is checked by asking the provider, which requires a clientSecret. If `introspection`
 * is set, every token is checked that way.
 */
export function oauth2Verifier(options: OAuth2Options): VerifyOAuth2 {
  const { clientId, clientSecret, scopes, introspection = false, fetch, now } = options
  if (introspection && !clientSecret) throw new Error('introspection needs auth.clientSecret')
  const { decodeJwt, jwtVerify } = jose()
  const provider = identityProvider({ provider: options.provider, fetch, now })
  const introspect = clientSecret ? introspector({ provider, clientId, clientSecret, fetch, now }) : undefined

  async function verifyWithKeys(token: string, typ: unknown): Promise<AccessGrant | RefusedToken> {
    const { issuer } = await provider.metadata()
    const { payload } = await jwtVerify(token, provider.keyFor, {
      algorithms: ALGORITHMS,
      issuer,
      audience: clientId,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_SKEW_SECONDS,
      currentDate: new Date(now()),
    })
    if (!mayBeAccessToken(payload, typ)) return refuse('wrong_type')
    const claims = AccessClaims.safeParse(payload).data
    if (!claims) return refuse('bad_claims')
    // An ID token without a nonce looks like an untyped access token, but it never contains scopes.
    if (!isTypedAccessToken(typ) && !claims.scope && !claims.scp) return refuse('wrong_type')
    return accessGrant({ claims, issuer, scopes, time: now() })
  }

  async function verifyByAsking(token: string): Promise<AccessGrant | RefusedToken> {
    if (!introspect) return refuse('malformed')
    const { active, ...answer } = await introspect(token)
    if (!active) return refuse('inactive')
    if (!mayBeAccessToken(answer, undefined)) return refuse('wrong_type')
    const claims = AccessClaims.safeParse(answer).data
    if (!claims) return refuse('bad_claims')

    const { issuer } = await provider.metadata()
    const { iss, aud, nbf, client_id } = claims
    if (iss !== undefined && iss !== issuer) return refuse('wrong_issuer')
    // `aud` is optional in RFC 7662. Without it, only a token that was issued to us is certainly meant for us.
    const meant = aud ? aud.includes(clientId) : client_id === clientId
    if (!meant) return refuse('wrong_audience')
    if (nbf !== undefined && nbf * 1000 > now() + CLOCK_SKEW_SECONDS * 1000) return refuse('not_yet_valid')
    return accessGrant({ claims, issuer, scopes, time: now() })
  }

  return async (token) => {
    if (!isBearerToken(token)) return refuse('malformed')
    const header = jwsHeader(token)
    try {
      if (!header) return await verifyByAsking(token)
      if (introspection) {
        return mayBeAccessToken(decodeJwt(token), header.typ) ? await verifyByAsking(token) : refuse('wrong_type')
      }
      if (!isAcceptableHeader(header, ALGORITHMS)) return refuse('unsupported')
      return await verifyWithKeys(token, header.typ)
    } catch (error) {
      return refusalOf(error)
    }
  }
}
