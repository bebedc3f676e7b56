import { parseIfJson } from '../../lib/json.ts'
import { ModelFailure, PromptTooLong } from '../models/model.ts'
import { AgentFailure } from '../outcome.ts'
import { ReportedError } from './protocols/protocol.ts'
import { fieldsOf, NotAnAnswer } from './protocols/read-events.ts'
import { retryAfter } from './retry.ts'

/** How many characters of a provider's error are read. */
const MAX_READ = 10_000

/** Where an error comes from. `asked` says what was requested from the provider, if it wasn't a model's answer. */
export type FailureSource = { provider: string; now: () => number; asked?: string; hasImages?: boolean }

/** An answer that was interrupted. */
export class TruncatedAnswer extends Error {}

type Headers = Record<string, string | string[] | undefined>

/** The provider replied with an error. */
export class BadStatus extends Error {
  readonly status: number
  readonly headers: Headers
  text = ''

  constructor(status: number, headers: Headers, text = '') {
    super(`status ${status}`)
    this.status = status
    this.headers = headers
    this.addText(text)
  }

  /** Whether the same request may succeed shortly. */
  get isPassing(): boolean {
    return this.status === 408 || this.status === 429 || this.status >= 500
  }

  addText(text: string): void {
    if (this.text.length < MAX_READ) this.text = (this.text + text).slice(0, MAX_READ)
  }

  /** The provider's message: `error.message` if there is one, as in the common protocols. */
  get reason(): string {
    const { error, message } = fieldsOf(parseIfJson(this.text))
    const told = typeof error === 'string' ? error : (fieldsOf(error)['message'] ?? message)
    return typeof told === 'string' ? told : this.text
  }
}

/** The provider didn't say when to try again. */
const RETRY_LATER = { after_ms: undefined }

const ADVICE: Record<number, string> = {
  400: 'the request was refused; check the model, temperature and tools',
  401: "the API key was refused; check this provider's key",
  403: "access was denied; check the API key's permissions",
  404: 'the model was not found',
  429: 'too many requests',
}

/** Turns an error into a failure of ours. The provider's text goes to the log, never to the client. */
export function asModelFailure(error: unknown, source: FailureSource, spoken: boolean): unknown {
  if (error instanceof Error && (error.name === 'AbortError' || error instanceof AgentFailure)) return error
  const { provider } = source
  const { code } = Object(error) as { code?: unknown }
  // Our own guard has refused the URL. Its message says which setting to change.
  if (code === 'blocked_address' || code === 'invalid_url') {
    return new ModelFailure(`Model provider ${provider} can't be called (${code}): ${(error as Error).message}`)
  }
  const refusal = refusalIn(error)
  const reason = refusal ? refusal.reason : String((error as Error).message)
  const detail = { ...(refusal && { status: refusal.status }), provider_message: reason }

  const refusedImages = source.hasImages && !spoken ? imageRefusal(refusal?.status, reason) : undefined
  if (refusedImages) {
    const failure = new ModelFailure(`Model provider ${provider} refused the images in the request.`, detail)
    failure.refusedImages = refusedImages
    return failure
  }
  if (refusal || error instanceof ReportedError) {
    const tooLong = spoken ? undefined : promptRefusal(refusal?.status, `${reason}\n${refusal?.text ?? ''}`)
    if (tooLong) {
      const answered = refusal ? `answered ${refusal.status}` : 'reported'
      const message = `Model provider ${provider} ${answered}: the conversation is too long for the model.`
      return new PromptTooLong(message, detail, tooLong.max_tokens)
    }
  }
  if (refusal) return statusFailure(refusal, source, detail, spoken)
  if (error instanceof ReportedError) return new ModelFailure(`Model provider ${provider} reported an error.`, detail)
  if (error instanceof NotAnAnswer) {
    return new ModelFailure(`Model provider ${provider} returned something that is not an answer.`, detail)
  }
  const what = spoken || error instanceof TruncatedAnswer ? 'ended its answer early' : 'could not be reached'
  // Text that was already sent can't be taken back, so the model isn't asked again.
  return new ModelFailure(`Model provider ${provider} ${what}.`, detail, spoken ? undefined : RETRY_LATER)
}

/** An error inside a reply is treated as if the provider had replied with its status. */
function refusalIn(error: unknown): BadStatus | undefined {
  if (error instanceof BadStatus) return error
  const isNamed = error instanceof ReportedError && error.status !== undefined
  return isNamed ? new BadStatus(error.status ?? 0, {}, error.body) : undefined
}

/** Parts of requests that a model may refuse, under the protocols' names. Longer names come first. */
const FIELDS =
  /\b(?:max_completion_tokens|parallel_tool_calls|frequency_penalty|presence_penalty|reasoning_effort|response_format|output_config|max_tokens|tool_choice|temperature|verbosity|messages|top_p|tools|stop|seed|model)\b/

/** Everyday words name a field only in quotes. "This model takes no images" is about something else. */
const EVERYDAY = /(?<!["'`])\b(?:messages|model|stop)\b(?!["'`])/g

/** Names the field that was refused. The provider's own text could reveal something that the client must not see. */
function refusedField({ text, reason }: BadStatus): string | undefined {
  const { param } = fieldsOf(fieldsOf(parseIfJson(text))['error'])
  const field = FIELDS.exec(typeof param === 'string' ? param : '') ?? FIELDS.exec(reason.replace(EVERYDAY, ''))
  return field?.[0]
}

function statusFailure(
  refusal: BadStatus,
  { provider, now, asked }: FailureSource,
  detail: Record<string, unknown>,
  spoken: boolean,
): ModelFailure {
  const { status, headers, isPassing } = refusal
  const refused = status === 400 || status === 422 ? refusedField(refusal) : undefined
  const advice =
    (refused && `${refused} was refused`) ??
    (asked && status === 404 ? `it does not have ${asked}` : ADVICE[status]) ??
    (status >= 500 ? 'an error at the provider' : 'the request was refused')
  const retry = isPassing && !spoken ? { after_ms: retryAfter(headers, now) } : undefined
  const failure = new ModelFailure(`Model provider ${provider} answered ${status}: ${advice}.`, detail, retry)
  failure.refused = refused
  return failure
}

/** How providers and servers refer to images in an error. */
const ABOUT_IMAGES = /\bimages?\b|image_url|\bvision\b|multi-?modal|\bmedia\b|\bdocument\b|content type|content part/i

/** Errors that mean that the model accepts no images at all: OpenAI, vLLM, Ollama, OpenRouter, llama.cpp, DeepSeek. */
const TAKES_NONE =
  /support|multi-?modal|\bvision\b|unknown variant|only text|missing data required for image|must be a string|mmproj/i

const TOO_LARGE = 413
const REFUSALS = new Set([400, 404, 415, 422, 500, 501])

/** Whether a request with images was refused because of them. `status` is undefined inside a stream. */
function imageRefusal(status: number | undefined, reason: string): 'these' | 'all' | undefined {
  if (status === TOO_LARGE) return 'these'
  if (status === undefined || !REFUSALS.has(status)) return undefined
  if (!ABOUT_IMAGES.test(reason) && !/must be a string/i.test(reason)) return undefined
  return TAKES_NONE.test(reason) && !/unsupported image|image (?:format|type)/i.test(reason) ? 'all' : 'these'
}

/** The error messages of providers and servers for a prompt that is too long. */
const TOO_LONG = [
  /context[_ ]length[_ ]exceeded|exceed_context_size_error/i, // the codes of OpenAI and llama.cpp
  /prompt is too long|input length and `?max_tokens`? exceed|request_too_large/i, // Anthropic
  /maximum (?:context|prompt|model) length|exceeds? the context window/i, // OpenAI, vLLM, OpenRouter, xAI
  /(?:exceeds?|greater than) the (?:available |maximum )?context (?:size|length)/i, // llama.cpp, LM Studio, Ollama
  /reduce the length of the messages/i, // Groq
  /input token count .{0,40}exceeds the maximum/i, // Gemini
  /inputs?`? tokens \+ `?max_new_tokens`? must be/i, // text-generation-inference
  /is too long for requested model|exceeded model token limit|context window exceeds/i, // Bedrock, Kimi, MiniMax
]

/** This single request exceeds the limit of tokens per minute, so waiting doesn't help. */
const TOO_LARGE_AT_ONCE = /request too large/i

const LIMITS = [
  /maximum (?:context|prompt|model) length (?:is|of) (\d+)/i,
  /tokens > (\d+) maximum/i,
  /exceed context limit: \d+ \+ \d+ > (\d+)/i,
  /maximum number of tokens allowed \((\d+)\)/i,
  /must be <= (\d+)/i,
  /"n_ctx":\s*(\d+)/i,
  /request too large .{0,200}limit:? (\d+)/is,
]

/** The prompt was too long. `max_tokens` is the model's limit, if the refusal contains it. */
type PromptRefusal = { max_tokens: number | undefined }

/** Recognizes a prompt that was too long. `status` is undefined if the refusal came inside a stream. */
export function promptRefusal(status: number | undefined, text: string): PromptRefusal | undefined {
  const isTooLong = status === 429 ? TOO_LARGE_AT_ONCE.test(text) : TOO_LONG.some((pattern) => pattern.test(text))
  if (!isTooLong && status !== 413) return undefined
  const limit = LIMITS.map((pattern) => Number(pattern.exec(text)?.[1])).find((tokens) => tokens > 0)
  return { max_tokens: limit }
}
