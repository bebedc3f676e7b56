import { lazily } from '../../lib/lazily.ts'

/** Speaks OAuth 2.0 and OpenID Connect. A service without providers never loads it. */
export const openid = lazily<typeof import('openid-client')>('openid-client')

/** The provider's own word for an error, as its protocol lists them. */
export function errorCodeOf(error: unknown): string | undefined {
  const { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } = openid()
  const isSaid = error instanceof AuthorizationResponseError || error instanceof ResponseBodyError
  const isChallenge = error instanceof WWWAuthenticateChallengeError
  const said = isSaid ? error.error : isChallenge ? error.cause[0]?.parameters.error : undefined
  return said !== undefined && /^[a-z_]{1,60}$/.test(said) ? said : undefined
}

/** Network errors, timeouts, and errors of a server that fails or is busy aren't refusals. */
export function isRefusal(error: unknown): boolean {
  const { ClientError, ResponseBodyError, WWWAuthenticateChallengeError, AuthorizationResponseError } = openid()
  if (error instanceof AuthorizationResponseError) return error.error !== 'temporarily_unavailable'
  if (error instanceof ResponseBodyError) return error.status < 500 && error.status !== 408 && error.status !== 429
  if (error instanceof WWWAuthenticateChallengeError) return true
  const UNANSWERED = [
    'OAUTH_TIMEOUT',
    'OAUTH_ABORT',
    'OAUTH_RESPONSE_IS_NOT_CONFORM',
    'OAUTH_RESPONSE_IS_NOT_JSON',
    'OAUTH_PARSE_ERROR',
  ]
  return error instanceof ClientError && !UNANSWERED.includes(error.code ?? '')
}

/** The text for the operator's log, with the reason behind `fetch failed`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/**
 * The cause of an error as it can be logged, without the provider's reply. A reply contains tokens, or repeats what it
 * was sent, and libraries attach it to their errors.
 */
export function causeWithoutReply(error: unknown): ErrorOptions {
  if (!(error instanceof Error)) return {}
  const { name, message, stack, cause, code, status }: Error & { code?: unknown; status?: unknown } = error
  const plain = new Error(message, causeWithoutReply(cause))
  const known = { name, stack, ...(code !== undefined && { code }), ...(status !== undefined && { status }) }
  return { cause: Object.assign(plain, known) }
}

/**
 * Why a provider can't be used. `unavailable`: it doesn't answer at the moment. `refused`: it refuses, with an error
 * code of the protocol. `unusable`: its metadata can't work.
 */
export class OAuthFailure extends Error {
  readonly kind: 'unavailable' | 'refused' | 'unusable'
  readonly code: string | undefined
  /** The provider asks for other credentials of this client. */
  readonly isChallenge: boolean

  constructor(
    kind: OAuthFailure['kind'],
    message: string,
    { code, cause, isChallenge = false }: { code?: string; cause?: unknown; isChallenge?: boolean } = {},
  ) {
    super(message, causeWithoutReply(cause))
    this.kind = kind
    this.code = code
    this.isChallenge = isChallenge
  }
}
