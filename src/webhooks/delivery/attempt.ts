import type { GuardedFetch } from '../../security/outgoing/guarded-client.ts'
import { GuardedFetchError } from '../../security/outgoing/guarded-error.ts'
import { signDelivery } from '../signature.ts'
import { type AttemptError, errorOf } from './delivery.ts'

export type Message = {
  url: string
  event_id: string
  event: string
  /** The exact text to send. */
  body: string
  /** Counts from 1. */
  attempt: number
  /** Newest first. */
  secrets: readonly string[]
  /** Further headers for a callback. */
  headers: Record<string, string>
}

export type AttemptOutcome = {
  at: number
  duration_ms: number
  response_status: number | null
  error: AttemptError | null
  /** How long the receiver's Retry-After header asks us to wait. 0 without the header. */
  retry_after_ms: number
}

type Options = {
  timeout_ms: number
  now: () => number
  /** The webhook's owner, for the limits of outgoing requests. */
  owner: string
  signal?: AbortSignal | null
}

/** How many bytes of a reply are read. */
const MAX_ANSWER_BYTES = 64 * 1024

/**
 * Signs and sends one message, once. A refusal or failure is returned as an outcome. This throws only if `signal`
 * aborts.
 */
export async function attempt(
  fetch: GuardedFetch,
  message: Message,
  { timeout_ms, now, owner, signal = null }: Options,
): Promise<AttemptOutcome> {
  const at = now()
  const started = performance.now()
  const outcome = (response_status: number | null, error: AttemptError | null, retry_after_ms = 0): AttemptOutcome => {
    return { at, duration_ms: Math.round(performance.now() - started), response_status, error, retry_after_ms }
  }
  let status: number | null = null
  try {
    const response = await fetch(message.url, {
      method: 'POST',
      headers: headersOf(message, at),
      body: message.body,
      timeout_ms,
      max_bytes: MAX_ANSWER_BYTES,
      owner,
      signal,
    })
    status = response.status
    if (response.ok) {
      // A delivery is successful if the whole reply has arrived within the time limit.
      for await (const _ of response.body ?? []);
      return outcome(status, null)
    }
    await response.body?.cancel()
    const isRedirect = status >= 300 && status < 400
    return outcome(status, isRedirect ? 'redirect' : 'http_error', retryAfter(response.headers, at))
  } catch (error) {
    if (!(error instanceof GuardedFetchError) || error.code === 'aborted') throw error
    return outcome(status, errorOf(error.code))
  }
}

function headersOf(message: Message, at: number): Record<string, string> {
  const { event_id, event, body, secrets, headers } = message
  return {
    'Content-Type': 'application/json; charset=utf-8',
    ...headers,
    ...signDelivery({ id: event_id, timestamp: Math.floor(at / 1000), body }, secrets),
    'X-Service-Event': event,
    'X-Service-Attempt': String(message.attempt),
  }
}

/** Reads seconds or a date (RFC 9110). Anything else is read as 0. */
function retryAfter(headers: Headers, now: number): number {
  const text = headers.get('retry-after') ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const date = text.endsWith(' GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? 0 : Math.max(0, date - now)
}
