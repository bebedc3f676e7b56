import type { ClientAuth, Configuration, CustomFetch } from 'openid-client'
import { isObject, parseIfJson } from '../../lib/json.ts'
import type { GuardedFetch } from '../outgoing/guarded-client.ts'
import { boundedFetch, type OAuthServer } from './oauth-server.ts'
import { errorCodeOf, isRefusal, OAuthFailure, openid, reasonOf } from './provider-errors.ts'

/** This service's identity as a client of an authorization server. */
export type ClientIdentity = { client_id: string; client_secret: string | undefined }

/** How this service became a client of a provider. */
export type ClientOrigin = 'given' | 'metadata_document' | 'registered'

/** A provider, and this service's identity as its client. */
export type KnownProvider = {
  server: OAuthServer
  client: OAuthClient
  client_id: string
  origin: ClientOrigin
  issuer: string
  scopes: readonly string[]
  canRevoke: boolean
}

/** What ties an answer of the provider to the browser that was sent there. */
export type SignInChecks = { state: string; verifier: string }

export type TokenSet = {
  access_token: string
  refresh_token: string | undefined
  /** In seconds from now. */
  expires_in: number | undefined
  scopes: string[] | undefined
}

/** What providers answer to a refresh token that doesn't exist: of a client that they accept, or of another. */
const CLIENT_ANSWERS: Readonly<Record<string, boolean>> = {
  invalid_grant: true,
  bad_refresh_token: true,
  invalid_client: false,
  incorrect_client_credentials: false,
}

/** Lengths that no provider needs. */
const MAX_TOKEN = 16_384

/** Speaks to one authorization server as one client. */
export class OAuthClient {
  readonly #server: OAuthServer
  readonly #configuration: Configuration

  constructor(server: OAuthServer, client: ClientIdentity, fetch: GuardedFetch) {
    this.#server = server
    this.#configuration = configurationOf(server, client, fetch)
  }

  /** Where a browser goes to sign in. */
  async begin(redirect_uri: string, scopes: readonly string[]): Promise<{ url: string; checks: SignInChecks }> {
    const { randomState, randomPKCECodeVerifier, calculatePKCECodeChallenge, buildAuthorizationUrl } = openid()
    const checks = { state: randomState(), verifier: randomPKCECodeVerifier() }
    const url = buildAuthorizationUrl(this.#configuration, {
      redirect_uri,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...this.#forResource(),
      state: checks.state,
      code_challenge: await calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
    })
    return { url: url.href, checks }
  }

  /** `callback` is the URL to which the browser was sent back. */
  finish(callback: URL, { state, verifier }: SignInChecks): Promise<TokenSet> {
    const answered = new URL(callback)
    // If the server doesn't name itself, this check can't distinguish it from another. Instead, each connection has its
    // own redirect URI.
    if (!this.#server.isNamed) answered.searchParams.delete('iss')
    const checks = { expectedState: state, pkceCodeVerifier: verifier }
    return asking(async () =>
      tokenSet(await openid().authorizationCodeGrant(this.#configuration, answered, checks, this.#forResource())),
    )
  }

  refresh(refresh_token: string): Promise<TokenSet> {
    return asking(async () =>
      tokenSet(await openid().refreshTokenGrant(this.#configuration, refresh_token, this.#forResource())),
    )
  }

  /**
   * Whether the provider accepts this client, or undefined if its answer doesn't say. It says so when it is asked to
   * refresh with a token that doesn't exist.
   */
  async isAccepted(): Promise<boolean | undefined> {
    try {
      await this.refresh('moorage-test')
      return true
    } catch (error) {
      if (!(error instanceof OAuthFailure) || error.kind !== 'refused') throw error
      if (error.code !== undefined) return CLIENT_ANSWERS[error.code]
      // 401 without a code: the provider asks for another client secret.
      return error.isChallenge ? false : undefined
    }
  }

  /** Returns false if the provider doesn't support revocation. */
  revoke(token: string, token_type_hint: 'access_token' | 'refresh_token'): Promise<boolean> {
    return asking(async () => {
      if (this.#configuration.serverMetadata().revocation_endpoint === undefined) return false
      await openid().tokenRevocation(this.#configuration, token, { token_type_hint })
      return true
    })
  }

  #forResource(): Record<string, string> {
    const { resource } = this.#server
    return resource === undefined ? {} : { resource }
  }
}

/** Registers this service with the provider (RFC 7591). */
export function registerClient(
  { metadata }: OAuthServer,
  { redirect_uri, client_name, scopes }: { redirect_uri: string; client_name: string; scopes: readonly string[] },
  fetch: GuardedFetch,
): Promise<ClientIdentity> {
  const { registration_endpoint } = metadata
  return asking(async () => {
    if (registration_endpoint === undefined) throw new OAuthFailure('unusable', 'the provider registers no clients')
    const response = await boundedFetch(fetch)(registration_endpoint, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({
        client_name,
        redirect_uris: [redirect_uri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      }),
    })
    const registered = parseIfJson(await response.text())
    const { client_id, client_secret } = isObject(registered) ? registered : {}
    if (!response.ok || typeof client_id !== 'string' || client_id.length > 2_048)
      throw new OAuthFailure('refused', `the provider did not register this service (HTTP ${response.status})`)
    return { client_id, client_secret: typeof client_secret === 'string' ? client_secret : undefined }
  })
}

function configurationOf({ metadata }: OAuthServer, client: ClientIdentity, fetch: GuardedFetch): Configuration {
  const { allowInsecureRequests, ClientSecretPost, Configuration, customFetch, None } = openid()
  const { client_id, client_secret } = client
  // Without a list, it is this one (RFC 8414).
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const withSecret = methods.includes('client_secret_basic') ? basicAuth : ClientSecretPost
  const authentication = client_secret === undefined ? None() : withSecret(client_secret)
  const configuration = new Configuration(metadata, client_id, undefined, authentication)
  const bounded = boundedFetch(fetch)
  const asked: CustomFetch = async (url, { body, ...init }) =>
    plainAnswer(await bounded(url, { ...init, body: (body ?? null) as RequestInit['body'] & {} }))
  Object.assign(configuration, { [customFetch]: asked })
  // Whether http is allowed is decided by the guarded client, as for every call of a tool.
  allowInsecureRequests(configuration)
  return configuration
}

/**
 * As the specification says, and no more than that: openid-client also encodes `-` and `_`, which providers that don't
 * decode refuse.
 */
function basicAuth(client_secret: string): ClientAuth {
  const encoded = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)
  return (_server, { client_id }, _body, headers) => {
    const credentials = `${encoded(client_id)}:${encoded(client_secret)}`
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }
}

/**
 * The service doesn't read ID tokens, so they are dropped unread. Some providers send errors with the status 200.
 */
async function plainAnswer(response: Response): Promise<Response> {
  const { status, headers } = response
  const text = await response.text()
  const said = status === 200 ? parseIfJson(text) : undefined
  if (!isObject(said)) return new Response(text || null, { status, headers })
  const { id_token: _unread, ...rest } = said
  const isError = typeof rest['error'] === 'string' && rest['access_token'] === undefined
  return new Response(JSON.stringify(rest), { status: isError ? 400 : status, headers })
}

type TokenAnswer = {
  access_token: string
  refresh_token?: string
  expires_in?: number
  scope?: string
  token_type: string
}

function tokenSet({ access_token, refresh_token, expires_in, scope, token_type }: TokenAnswer): TokenSet {
  if (token_type.toLowerCase() !== 'bearer')
    throw new OAuthFailure('unusable', 'the provider gives tokens that are not bearer tokens')
  for (const token of [access_token, refresh_token ?? 'none']) {
    if (token.length > MAX_TOKEN || !/^[\x21-\x7e]+$/.test(token))
      throw new OAuthFailure('unusable', 'the provider gave a token that no header can have')
  }
  return { access_token, refresh_token, expires_in, scopes: scope?.split(' ').filter(Boolean) }
}

async function asking<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OAuthFailure) throw error
    const code = errorCodeOf(error)
    if (isRefusal(error)) {
      const message = `the provider refused${code ? ` (${code})` : ''}`
      const isChallenge = error instanceof openid().WWWAuthenticateChallengeError
      throw new OAuthFailure('refused', message, { cause: error, isChallenge, ...(code && { code }) })
    }
    throw new OAuthFailure('unavailable', reasonOf(error), { cause: error })
  }
}
