import { AgentFailure } from '../outcome.ts'
import { ModelFailure, PromptTooLong } from './model.ts'
import { promptRefusal } from './prompt-refusal.ts'
import { retryAfter } from './retry.ts'

/** How many characters of a provider's error are read. */
const MAX_READ = 10_000

/** `asked` is what the provider was asked for, if that was no answer of a model. */
export type FailureSource = { provider: string; now: () => number; asked?: string }

/** An answer that broke off. */
export class TruncatedAnswer extends Error {}

/** Recognises the AI SDK's errors for a stream that ended too early. */
export function isTruncation(error: unknown): boolean {
  return error instanceof Error && error.name === 'AI_InvalidResponseDataError'
}

/** The provider did not say when to try again. */
const RETRY_LATER = { after_ms: undefined }

/** What the guarded client says of an address that does not answer. */
const UNREACHED = new Set<unknown>(['dns_failed', 'connect_failed', 'tls_failed', 'timeout'])

const ADVICE: Record<number, string> = {
  400: 'the request was refused; check model, temperature and tools',
  401: 'the key was refused; check the API key of this provider',
  403: 'access was refused; check the rights of the API key',
  404: 'the model was not found',
  429: 'too many requests',
}

/** Turns an error of the AI SDK into a failure of ours. The provider's text goes to the log, never to the client. */
export function asModelFailure(error: unknown, { provider, now, asked }: FailureSource, spoken: boolean): unknown {
  if (error instanceof Error && (error.name === 'AbortError' || error instanceof AgentFailure)) return error
  const code = (Object(error) as { code?: unknown }).code
  // This is our own refusal. It says which setting to change.
  if (error instanceof Error && (code === 'blocked_address' || code === 'invalid_url')) {
    return new ModelFailure(`Model provider ${provider} may not be called (${code}): ${error.message}`)
  }
  const { status, headers, body, isRetryable } = responseOf(error)
  const refusal = spoken
    ? undefined
    : promptRefusal(status, `${detail(error).provider_message}\n${body}`.slice(0, MAX_READ))
  if (refusal) {
    const answered = status === undefined ? 'reported' : `answered ${status}`
    const message = `Model provider ${provider} ${answered}: the conversation is too long for the model`
    return new PromptTooLong(message, { status, ...detail(error) }, refusal.max_tokens)
  }
  if (!(error instanceof Error)) return new ModelFailure(`Model provider ${provider} reported an error`, detail(error))
  if (status === undefined || status < 400) {
    const brokeOff = error instanceof TruncatedAnswer || isTruncation(error) || Boolean(status) || code === 'reset'
    const unreachable = isRetryable || error instanceof TypeError || UNREACHED.has(code)
    return withoutAnswer(error, provider, { brokeOff, unreachable, spoken })
  }
  const advice =
    (asked && status === 404 ? `it does not have ${asked}` : ADVICE[status]) ??
    (status >= 500 ? 'it has a problem' : 'the request was refused')
  const passing = status === 408 || status === 429 || status >= 500
  return new ModelFailure(
    `Model provider ${provider} answered ${status}: ${advice}`,
    { status, ...detail(error) },
    passing && !spoken ? { after_ms: retryAfter(headers, now) } : undefined,
  )
}

/** The failure of a provider that sent no answer, or a part of one. */
function withoutAnswer(
  error: Error,
  provider: string,
  { brokeOff, unreachable, spoken }: { brokeOff: boolean; unreachable: boolean; spoken: boolean },
): ModelFailure {
  if (!brokeOff && !unreachable) {
    return new ModelFailure(`Model provider ${provider} sent something that is not an answer`, detail(error))
  }
  const what = brokeOff || spoken ? 'broke off its answer' : 'could not be reached'
  // What was said already cannot be taken back, so the model is not asked again.
  return new ModelFailure(`Model provider ${provider} ${what}`, detail(error), spoken ? undefined : RETRY_LATER)
}

/** The SDK's errors are recognised by their fields: each provider package may have its own copy of the class. */
function responseOf(error: unknown) {
  const fields = Object(error) as {
    statusCode?: number
    responseHeaders?: Record<string, string>
    responseBody?: string
    isRetryable?: boolean
  }
  const { statusCode: status, responseHeaders: headers = {}, responseBody: body = '' } = fields
  return { status, headers, body, isRetryable: fields.isRetryable === true }
}

function detail(error: unknown) {
  const message = error instanceof Error ? error.message : typeof error === 'string' ? error : JSON.stringify(error)
  return { provider_message: message }
}
