/** Every error code that a client may see, and its status. */
export const STATUS_OF = {
  invalid_request: 400,
  unauthorized: 401,
  mfa_required: 401,
  forbidden: 403,
  https_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  agent_paused: 409,
  session_busy: 409,
  idempotency_key_in_use: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  idempotency_key_reused: 422,
  rate_limited: 429,
  budget_exceeded: 429,
  headers_too_large: 431,
  server_error: 500,
  output_invalid: 500,
  unavailable: 503,
  timeout: 504,
} as const

export type ErrorCode = keyof typeof STATUS_OF

export type ErrorDetail = { field: string; error: string }

/** A reply repeats only the beginning of what the client sent. */
const MAX_MESSAGE = 2_000
const MAX_FIELD = 200
const MAX_PROBLEM = 1_000

type Extras = {
  details?: ErrorDetail[] | undefined
  retry_after?: number | undefined
  headers?: Record<string, string>
  cause?: unknown
  missing?: string | undefined
}

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: ErrorDetail[] | undefined
  /** Whole seconds. */
  readonly retry_after: number | undefined
  readonly headers: Record<string, string>
  /** The kind of thing that was not found. */
  readonly missing: string | undefined

  constructor(code: ErrorCode, message: string, { details, retry_after, headers, cause, missing }: Extras = {}) {
    super(message.slice(0, MAX_MESSAGE), { cause })
    this.code = code
    this.status = STATUS_OF[code]
    this.details = details?.map(({ field, error }) => ({
      field: field.slice(0, MAX_FIELD),
      error: error.slice(0, MAX_PROBLEM),
    }))
    this.missing = missing
    this.retry_after = retry_after
    this.headers = retry_after === undefined ? { ...headers } : { ...headers, 'Retry-After': String(retry_after) }
  }

  /** The same error about other fields. */
  withDetails(details: ErrorDetail[]): ApiError {
    return new ApiError(this.code, this.message, { ...this, details, cause: this.cause })
  }
}

/** The end of a run. Any other error says nothing about a run: there may be none. */
export class RunFailure extends ApiError {
  readonly run_id: string
  constructor(run_id: string, code: ErrorCode, message: string, extras: Extras) {
    super(code, message, extras)
    this.run_id = run_id
  }
}

/** The work continues without this request. A later request with the same Idempotency-Key gets its answer. */
export class StillRunning extends ApiError {
  constructor(message: string, cause?: unknown) {
    super('unavailable', message, { retry_after: 1, cause })
  }
}

/** One or several fields are wrong: `Validation failed`, with the fields in `details`. */
export function invalid(...details: ErrorDetail[]): ApiError {
  return new ApiError('invalid_request', 'Validation failed', { details })
}

/** The request can't be read, or makes no sense. No single field of it is wrong. */
export function badRequest(message: string): ApiError {
  return new ApiError('invalid_request', message)
}

export function notFound(kind: string, id: string): ApiError {
  return new ApiError('not_found', `${kind} ${JSON.stringify(id.slice(0, 100))} not found.`, { missing: kind })
}

export function conflict(message: string): ApiError {
  return new ApiError('conflict', message)
}

/** A run was refused because another one of its session is in progress, or its turn did not come in time. */
export const SESSION_BUSY = {
  code: 'session_busy',
  message: 'Another run of this session is in progress. Try again when it has ended.',
  retry_after: 1,
} as const

export function sessionBusy(): ApiError {
  const { code, message, retry_after } = SESSION_BUSY
  return new ApiError(code, message, { retry_after })
}

export function forbidden(message: string): ApiError {
  return new ApiError('forbidden', message)
}

export function fileTooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', `Files can be at most ${maxBytes} bytes (files.maxBytes).`)
}

export function unavailable(message: string, retryAfterMs = 1000, cause?: unknown): ApiError {
  return new ApiError('unavailable', message, { retry_after: Math.max(1, Math.ceil(retryAfterMs / 1000)), cause })
}

/** How many old secrets can be in their grace periods at the same time. */
const MOST_OLD_SECRETS = 5

export function requireFewSecrets(inGrace: number): void {
  if (inGrace < MOST_OLD_SECRETS) return
  throw conflict(
    `${MOST_OLD_SECRETS} old secrets are in their grace periods. Wait for one to end, or end them all with grace_period_seconds: 0.`,
  )
}
