import { type ErrorCode, STATUS_OF } from './api.ts'

export type ErrorDetail = { field: string; error: string }

type Facts = {
  status?: number | undefined
  request_id?: string | undefined
  details?: ErrorDetail[] | undefined
  retry_after?: number | undefined
  should_retry?: boolean | undefined
  reason?: string | undefined
  cause?: unknown
}

/** Any error of a request. `code` says what went wrong; `status` is 0 if there was no reply. */
export class MoorageError extends Error {
  readonly code: ErrorCode | 'unreachable' | 'invalid_reply' | 'waiting'
  readonly status: number
  /** Give this ID to the operator when you ask for help: it's in the service's log. */
  readonly request_id: string | undefined
  /** The invalid fields, if the request wasn't valid. */
  readonly details: readonly ErrorDetail[]
  /** When to retry, in whole seconds. */
  readonly retry_after: number | undefined
  /** False if the service says that a retry would run the agent again and probably fail the same way. */
  readonly should_retry: boolean | undefined
  /** Why the run waits, if not for people. */
  readonly reason: string | undefined

  constructor(code: MoorageError['code'], message: string, facts: Facts = {}) {
    super(message, { cause: facts.cause })
    this.name = 'MoorageError'
    this.code = code
    this.status = facts.status ?? 0
    this.request_id = facts.request_id
    this.details = facts.details ?? []
    this.retry_after = facts.retry_after
    this.should_retry = facts.should_retry
    this.reason = facts.reason
  }
}

/** Creates the error for a reply. A proxy might have answered in another format. */
export function errorOf(status: number, headers: Headers, text: string): MoorageError {
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN)
  const facts: Facts = {
    status,
    request_id: headers.get('x-request-id') ?? undefined,
    retry_after: Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined,
    should_retry: headers.get('x-should-retry') === 'false' ? false : undefined,
  }
  const error = bodyError(text, status, facts.request_id)
  if (error === 'foreign') {
    const message = `The server answered ${status}, but not in Moorage's format. Check the URL.`
    return new MoorageError(status >= 500 ? 'server_error' : 'invalid_reply', message, facts)
  }
  if (!error) return new MoorageError(codeOf(status), `The service answered ${status}.`, facts)
  const { code, message, details, retry_after = facts.retry_after } = error
  return new MoorageError(code, message, { ...facts, details, retry_after })
}

/** The error in a body without a status, which is the last event of a stream. */
export function errorFrom(body: unknown, request_id: string | undefined): MoorageError {
  const { error } = body as { error: BodyError & { code: ErrorCode } }
  const { code, message, details, retry_after } = error
  return new MoorageError(code, message, { status: STATUS_OF[code] ?? 500, request_id, details, retry_after })
}

type BodyError = { code: MoorageError['code']; message: string; details?: ErrorDetail[]; retry_after?: number }

type ErrorEnvelope = { code?: unknown; message?: unknown; data?: Partial<BodyError> }

/**
 * The error in a body. Undefined if the body isn't JSON, and `foreign` for another API's JSON error. A reply with one
 * of our request IDs is ours: errors for OpenAI clients have our code or one of OpenAI's, and JSON-RPC errors have our
 * code in `data`.
 */
function bodyError(text: string, status: number, request_id = ''): BodyError | 'foreign' | undefined {
  try {
    const { success, error } = JSON.parse(text) as { success?: unknown; error?: ErrorEnvelope }
    const message = error?.message
    if (typeof message !== 'string') return 'foreign'
    if (success === false && typeof error?.code === 'string') return error as BodyError
    if (!request_id.startsWith('req_')) return 'foreign'
    const code = [error?.data?.code, error?.code].find(isOurs) ?? codeOf(status)
    return { ...error?.data, code, message }
  } catch {
    return undefined
  }
}

function isOurs(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(STATUS_OF, code)
}

/** The code for a status. If several codes have it, returns the first one. */
function codeOf(status: number): MoorageError['code'] {
  const known = Object.entries(STATUS_OF).find(([, value]) => value === status)
  if (known) return known[0] as ErrorCode
  return status >= 500 ? 'server_error' : 'invalid_reply'
}
