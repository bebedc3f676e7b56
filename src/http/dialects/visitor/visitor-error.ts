import type { ApiError, ErrorCode } from '../../../errors.ts'
import type { RenderedReply } from '../dialect.ts'

const FAILED = 'The answer could not be given. Please try again.'

/** What visitors read. Our own messages are for operators: they name settings, budgets and tools. */
const MESSAGES: Partial<Record<ErrorCode, string>> = {
  unauthorized: "This chat doesn't exist, or it has ended.",
  not_found: "This chat doesn't exist, or it has ended.",
  forbidden: "This page isn't allowed to use this chat.",
  budget_exceeded: 'This chat has reached its limit and accepts no more messages. Thank you for your visit.',
  rate_limited: 'Too many messages at once. Please wait a moment.',
  agent_paused: "This chat isn't available at the moment.",
  conflict: "This isn't possible any more. Please reload the page.",
  session_busy: 'The last message is still being answered.',
  payload_too_large: 'The message or its files are too large.',
  unavailable: "This chat isn't available at the moment. Please try again shortly.",
}

export function messageFor(code: ErrorCode): string {
  return MESSAGES[code] ?? FAILED
}

/** An error as a visitor may see it. Only the fields of their own request are named. */
export function visitorError(
  { code, status, message, details, retry_after }: ApiError,
  request_id: string,
): RenderedReply {
  const isTheirs = code === 'invalid_request' || code === 'method_not_allowed'
  const error = {
    code,
    message: isTheirs ? message : messageFor(code),
    ...(retry_after !== undefined && { retry_after }),
    ...(isTheirs && details && { details }),
  }
  const headers: Record<string, string> = retry_after === undefined ? {} : { 'Retry-After': String(retry_after) }
  return { status, headers, body: JSON.stringify({ success: false, error, request_id }) }
}
