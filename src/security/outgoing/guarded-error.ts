export type GuardedFetchCode =
  | 'invalid_url'
  | 'invalid_request'
  | 'blocked_address'
  | 'dns_failed'
  | 'connect_failed'
  | 'tls_failed'
  | 'invalid_response'
  | 'reset'
  | 'too_large'
  | 'timeout'
  | 'aborted'

/** Why an outgoing call failed. The message may be shown to clients, but not the cause. */
export class GuardedFetchError extends Error {
  readonly code: GuardedFetchCode

  constructor(code: GuardedFetchCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    // Libraries that accept a fetch function recognize these two errors by their standard names.
    this.name = code === 'aborted' ? 'AbortError' : code === 'timeout' ? 'TimeoutError' : 'GuardedFetchError'
  }
}

/** How far an exchange has got. The answer's body begins after its head. */
export type Phase = 'connect' | 'tls' | 'head' | 'body'

/** Explains a socket or parser error by how far the exchange got, which says more than the error's code. */
export function explain(cause: unknown, phase: Phase, host: string): GuardedFetchError {
  if (cause instanceof GuardedFetchError) return cause
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
  if (phase === 'connect') {
    return new GuardedFetchError('connect_failed', `could not connect to ${host} (${code})`, { cause })
  }
  if (phase === 'tls') return new GuardedFetchError('tls_failed', `TLS with ${host} failed (${code})`, { cause })
  if (isGarbled(cause, phase)) {
    return new GuardedFetchError('invalid_response', `${host} did not respond with valid HTTP`, { cause })
  }
  return new GuardedFetchError('reset', `${host} closed the connection before the response was complete`, { cause })
}

/** Whether the parser failed on what it read, rather than because the connection ended. */
function isGarbled(cause: unknown, phase: Phase): boolean {
  if (!(cause instanceof Error)) return false
  if (cause.name === 'HTTPParserError') return !cause.message.includes('EOF')
  const code = 'code' in cause && cause.code
  return code === 'UND_ERR_HEADERS_OVERFLOW' || (phase === 'head' && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')
}

export function abortError(reason: unknown): GuardedFetchError {
  if (reason instanceof GuardedFetchError) return reason
  if (reason instanceof Error && reason.name === 'TimeoutError') {
    return new GuardedFetchError('timeout', 'the call timed out', { cause: reason })
  }
  return new GuardedFetchError('aborted', 'the call was aborted', { cause: reason })
}
