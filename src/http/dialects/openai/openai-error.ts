import type { ApiError, ErrorCode } from '../../../errors.ts'
import { type AskedSignIn, signInWords } from '../../../runtime/approvals/sign-in-words.ts'
import type { RenderedReply } from '../dialect.ts'

/** OpenAI's names for some of our error codes. The other codes stay the same. */
const CODES: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'invalid_api_key',
  rate_limited: 'rate_limit_exceeded',
  budget_exceeded: 'insufficient_quota',
  invalid_request: 'invalid_value',
}

const UNSUPPORTED = /is not supported/

/** An error in OpenAI's form, with its usual status. */
export function openaiError(error: ApiError): RenderedReply {
  const { status, headers, message, details, code } = error
  // In all other errors, the details are about fields of the request.
  const [first] = code === 'invalid_request' ? (details ?? []) : []
  const words = {
    message: first && message === 'Validation failed' ? `${bracketed(first.field)}: ${first.error}` : missing(message),
    type: code === 'budget_exceeded' ? 'insufficient_quota' : typeOf(status),
    param: first ? bracketed(first.field) : null,
    code: first && UNSUPPORTED.test(first.error) ? 'unsupported_parameter' : (CODES[code] ?? code),
  }
  if (error.missing === 'Agent') Object.assign(words, NO_MODEL, { message: message.replace(NO_AGENT, NO_MODEL_NAMED) })
  return { status, headers, body: JSON.stringify({ error: words }) }
}

const NO_MODEL = { param: 'model', code: 'model_not_found' }
const NO_AGENT = /^Agent (.*) not found\.$/s
const NO_MODEL_NAMED = "The model $1 does not exist or you don't have access to it."

function typeOf(status: number): string {
  if (status >= 500) return 'server_error'
  if (status === 429) return 'rate_limit_error'
  return status === 403 ? 'permission_error' : 'invalid_request_error'
}

/** Names the missing fields in a message the way `param` does. */
function missing(message: string): string {
  const [, words, fields] = /^(Missing required parameters?: )(.*)$/s.exec(message) ?? []
  return words === undefined ? message : words + (fields ?? '').split(', ').map(bracketed).join(', ')
}

/** Converts `messages.0.content` to `messages[0].content`. */
function bracketed(field: string): string {
  return field.replace(/^output\.schema/, 'schema').replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]')
}

const RUN_WAITS = 'run_waits'

/**
 * The error for a run that continues later, which a chat completion can't express. Clients don't retry this error by
 * themselves.
 */
export function waitsError(
  request_id: string,
  { reason, approvals = [] }: { reason?: string; approvals?: readonly AskedSignIn[] } = {},
): RenderedReply {
  const signIn = signInWords(approvals)
  const person = signIn === undefined ? 'is waiting for a person' : `is waiting for a sign-in (${signIn})`
  const waits = reason === undefined ? person : 'is waiting'
  const why = reason === undefined ? '' : ` Reason: ${reason}`
  const message = `The run ${request_id} ${waits} and continues on its own. Its receipt will contain the answer. To get the answer here, send the request with an Idempotency-Key and repeat it, or use the Responses API.${why}`
  const error = { message, type: 'invalid_request_error', param: null, code: RUN_WAITS }
  return { status: 400, headers: {}, body: JSON.stringify({ error }) }
}
