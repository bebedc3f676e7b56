import type { Configuration, ServerMetadata, TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import { causeWithoutReply, errorCodeOf, isRefusal, openid, reasonOf } from '../oauth/provider-errors.ts'
import { CLOCK_SKEW_SECONDS, jose, Unavailable } from '../tokens/bearer-token.ts'
import { type IdentityProvider, identityProvider } from '../tokens/identity-provider.ts'
import { type Identity, readIdentity } from './identity.ts'
import { readLogoutToken } from './logout-token.ts'
import type { OidcSettings } from './oidc-settings.ts'

/** What ties a provider's answer to the browser that was sent there. */
export type Checks = { state: string; nonce: string; verifier: string }

/** `is_offline` means that the provider can still be asked after the person has signed out there. */
export type IssuerTokens = { refresh_token?: string; id_token?: string; is_offline?: boolean }

/** A person's identity as the provider has just confirmed it, and the tokens for asking again. */
export type VerifiedIdentity = { identity: Identity; tokens: IssuerTokens }

/** What a device shows while its owner signs in on another device. */
export type DeviceCode = {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string | undefined
  expires_in: number
  interval: number
}

/** The provider doesn't answer, or not as it should. It may do so later. */
export class IssuerUnavailable extends Error {
  constructor(message: string, { cause }: { cause?: unknown } = {}) {
    super(message, causeWithoutReply(cause))
  }
}

/**
 * The provider refuses, or its reply fails a check. `code` is the provider's error code, if it is known to be harmless.
 */
export class IssuerRefusal extends Error {
  readonly code: string
  constructor(code: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), causeWithoutReply(cause))
    this.code = code
  }
}

const ANSWER_TIMEOUT_SECONDS = 5
const MAX_SUBJECT = 255
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers

/** One identity provider: sends browsers there, and checks the results. */
export class OidcIssuer {
  readonly settings: OidcSettings
  readonly #now: () => number
  #provider: IdentityProvider | undefined

  constructor(settings: OidcSettings, now: () => number) {
    this.settings = settings
    this.#now = now
  }

  /** The URL at which a browser signs in. */
  async begin(redirect_uri: string): Promise<{ url: string; checks: Checks }> {
    const { randomState, randomNonce, randomPKCECodeVerifier, calculatePKCECodeChallenge } = openid()
    const checks = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
    const code_challenge = await calculatePKCECodeChallenge(checks.verifier)
    return this.#ask(async (configuration) => {
      const url = openid().buildAuthorizationUrl(configuration, {
        redirect_uri,
        scope: this.settings.scopes.join(' '),
        state: checks.state,
        nonce: checks.nonce,
        code_challenge,
        code_challenge_method: 'S256',
      })
      return { url: url.href, checks }
    })
  }

  /** The person who has signed in. `callback` is the URL to which the browser was sent back. */
  finish(callback: URL, { state, nonce, verifier }: Checks): Promise<VerifiedIdentity> {
    return this.#ask(async (configuration) => {
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      return this.#vouch(configuration, await openid().authorizationCodeGrant(configuration, callback, checks))
    })
  }

  /** Asks again who the person is. If the provider no longer vouches for the person, returns its error code. */
  async confirm(known: IssuerTokens, subject: string): Promise<VerifiedIdentity | { refused: string }> {
    const { refresh_token } = known
    if (refresh_token === undefined) return { refused: 'no_refresh_token' }
    return this.#ask(async (configuration) => {
      try {
        const tokens = await openid().refreshTokenGrant(configuration, refresh_token)
        const { identity, tokens: renewed } = await this.#vouch(configuration, tokens, subject)
        return { identity, tokens: { ...known, ...renewed } }
      } catch (error) {
        const refused = isRefusal(error) ? errorCodeOf(error) : undefined
        if (refused === undefined || ABOUT_THE_CLIENT.has(refused)) throw error
        return { refused }
      }
    })
  }

  /** The URL at which a browser also signs out at the provider. Undefined if the provider has no such page. */
  async signOutUrl({ id_token }: IssuerTokens, back: string): Promise<string | undefined> {
    return this.#ask(async (configuration) => {
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
      const given = { post_logout_redirect_uri: back, ...(id_token && { id_token_hint: id_token }) }
      return openid().buildEndSessionUrl(configuration, given).href
    })
  }

  /** Revokes the tokens of an ended session, if the provider supports that. */
  async revoke({ refresh_token }: IssuerTokens): Promise<void> {
    if (refresh_token === undefined) return
    await this.#ask(async (configuration) => {
      if (configuration.serverMetadata().revocation_endpoint === undefined) return
      await openid().tokenRevocation(configuration, refresh_token)
    })
  }

  /** Undefined if the provider doesn't support sign-in for devices. */
  async beginDevice(): Promise<DeviceCode | undefined> {
    return this.#ask(async (configuration) => {
      if (configuration.serverMetadata().device_authorization_endpoint === undefined) return undefined
      const scope = this.settings.scopes.join(' ')
      const begun = await openid().initiateDeviceAuthorization(configuration, { scope })
      return { interval: 5, verification_uri_complete: undefined, ...begun }
    })
  }

  /** The person who has signed in for a device. `wait` if they haven't yet, `slow_down` if this is called too often. */
  async finishDevice(device_code: string): Promise<VerifiedIdentity | 'wait' | 'slow_down'> {
    return this.#ask(async (configuration) => {
      try {
        return await this.#vouch(
          configuration,
          await openid().genericGrantRequest(configuration, DEVICE_GRANT, { device_code }),
        )
      } catch (error) {
        const code = errorCodeOf(error)
        if (code === 'authorization_pending') return 'wait'
        if (code === 'slow_down') return 'slow_down'
        throw error
      }
    })
  }

  /**
   * Whose sessions have ended according to the provider. Undefined if the token isn't valid, `unavailable` if that
   * can't be determined.
   */
  readLogout(token: string): ReturnType<typeof readLogoutToken> {
    return readLogoutToken(token, this.settings, this.#published(), this.#now())
  }

  #published(): IdentityProvider {
    this.#provider ??= identityProvider({ provider: this.settings.issuer, fetch, now: this.#now })
    return this.#provider
  }

  /** The identity in the ID token. Missing claims are requested from UserInfo. */
  async #vouch(configuration: Configuration, tokens: Tokens, subject?: string): Promise<VerifiedIdentity> {
    const { access_token, refresh_token, id_token, scope } = tokens
    const { roles, scopes } = this.settings
    const { userinfo_endpoint, issuer } = configuration.serverMetadata()
    const ofToken = tokens.claims()
    const expected = subject ?? ofToken?.sub
    if (expected === undefined || expected.length > MAX_SUBJECT || (ofToken && ofToken.sub !== expected)) {
      throw new IssuerRefusal('other_subject', "the provider returned another person's data")
    }
    if (id_token !== undefined) await this.#checkSignature(id_token)
    const who = { issuer, subject: expected }
    const documents: object[] = ofToken ? [ofToken] : []
    const { address, groups } = readIdentity(documents, who, this.settings)
    const isComplete = (address || !scopes.includes('email')) && (groups || roles.length === 0)
    if (!isComplete && userinfo_endpoint) {
      documents.push(await openid().fetchUserInfo(configuration, access_token, expected))
    }
    const is_offline = (scope?.split(' ') ?? scopes).includes('offline_access')
    const given = { ...(refresh_token && { refresh_token, is_offline }), ...(id_token && { id_token }) }
    return { identity: readIdentity(documents, who, this.settings), tokens: given }
  }

  /** The provider has just issued this token, so a key that isn't known here must be a new one. */
  async #checkSignature(id_token: string): Promise<void> {
    const { compactVerify, errors } = jose()
    try {
      await compactVerify(id_token, this.#published().keyFor).catch((error) => {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        this.#provider = undefined
        return compactVerify(id_token, this.#published().keyFor)
      })
    } catch (error) {
      if (error instanceof Unavailable) throw new IssuerUnavailable(error.message, { cause: error })
      throw new IssuerRefusal('bad_signature', error)
    }
  }

  async #ask<T>(work: (configuration: Configuration) => Promise<T>): Promise<T> {
    try {
      const published = (await this.#published().metadata()) as ServerMetadata
      return await work(configurationOf(published, this.settings))
    } catch (error) {
      if (error instanceof IssuerRefusal || error instanceof IssuerUnavailable) throw error
      if (isRefusal(error)) throw new IssuerRefusal(errorCodeOf(error) ?? 'refused', error)
      throw new IssuerUnavailable(reasonOf(error), { cause: error })
    }
  }
}

function configurationOf(published: ServerMetadata, { clientId, clientSecret }: OidcSettings): Configuration {
  const { allowInsecureRequests, clockTolerance, Configuration, None } = openid()
  const client = { [clockTolerance]: CLOCK_SKEW_SECONDS, ...(clientSecret && { client_secret: clientSecret }) }
  const configuration = new Configuration(published, clientId, client, clientSecret === undefined ? None() : undefined)
  configuration.timeout = ANSWER_TIMEOUT_SECONDS
  // The operator's configuration has an http:// URL.
  if (new URL(published.issuer).protocol === 'http:') allowInsecureRequests(configuration)
  return configuration
}

/** Refusals that aren't about the person. The operator must check the client's settings. */
const ABOUT_THE_CLIENT: ReadonlySet<string> = new Set([
  'invalid_client',
  'invalid_request',
  'invalid_scope',
  'insufficient_scope',
  'unsupported_grant_type',
])
