import { SignJWT } from 'jose'
import type { PersonTab } from '../console/person-tab.ts'
import {
  type IdentityProviderServer,
  newSigningKey,
  type SigningKey,
  startIdentityProvider,
} from './identity-provider.ts'
import { CLIENT } from './oidc-issuer.ts'

type Claims = Record<string, unknown>

/** An OpenID provider that says about a person, in each document, exactly what the test has written there. */
export type ToldIssuer = IdentityProviderServer & {
  /** The ID token of a sign-in. */
  idToken: Claims
  /** The ID token of a refresh, if there is one. */
  refreshed: Claims | undefined
  /** What UserInfo replies. */
  userinfo: Claims
  /** What the token endpoint replies instead of a refresh. */
  refusal: { status: number; error: string } | undefined
  key: SigningKey
  /** The entry of `console.oidc`. */
  entry(more?: object): Record<string, unknown>
  /** Sends a browser there and back. Returns the console path at which it ends. */
  signIn(tab: PersonTab, body?: object): Promise<string>
}

export async function startToldIssuer(): Promise<ToldIssuer> {
  const server = await startIdentityProvider()
  const { issuer: iss } = server
  server.metadata = {
    ...server.metadata,
    authorization_endpoint: `${iss}/authorize`,
    token_endpoint: `${iss}/token`,
    userinfo_endpoint: `${iss}/userinfo`,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['ES256'],
  }
  const key = await newSigningKey('one')
  server.keys = [key.jwk]
  let nonce: string | undefined
  const told: ToldIssuer = Object.assign(server, {
    idToken: {},
    refreshed: undefined,
    userinfo: {},
    refusal: undefined,
    key,
    entry: (more = {}) => ({ name: 'told', issuer: iss, clientId: CLIENT.id, clientSecret: CLIENT.secret, ...more }),
    async signIn(tab: PersonTab, body: object = {}) {
      const { url, attempt } = await tab.begin('told', body)
      const asked = new URL(url).searchParams
      nonce = asked.get('nonce') ?? ''
      const back = `${asked.get('redirect_uri')}?code=c&state=${asked.get('state')}`
      const { headers } = await tab.comeBack(back, attempt)
      return (headers.get('location') ?? '').replace(new URL(back).origin, '')
    },
  })

  const signed = (claims: Claims) => {
    const token = new SignJWT({ ...claims, ...(nonce !== undefined && { nonce }) })
    const { privateKey, jwk } = told.key
    token.setProtectedHeader({ alg: 'ES256', kid: jwk.kid ?? '' })
    return token.setIssuer(iss).setAudience(CLIENT.id).setIssuedAt().setExpirationTime('5m').sign(privateKey)
  }
  server.answers.set('/token', async (response) => {
    const isRefresh = nonce === undefined
    response.setHeader('content-type', 'application/json')
    if (isRefresh && told.refusal) {
      return response.writeHead(told.refusal.status).end(JSON.stringify({ error: told.refusal.error }))
    }
    const claims = isRefresh ? told.refreshed : told.idToken
    const id_token = claims && (await signed(claims))
    nonce = undefined
    const tokens = { access_token: 'a', token_type: 'Bearer', refresh_token: 'r', ...(id_token && { id_token }) }
    response.end(JSON.stringify(tokens))
  })
  server.answers.set('/userinfo', (response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(told.userinfo))
  })
  return told
}
