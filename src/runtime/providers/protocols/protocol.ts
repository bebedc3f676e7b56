import type { Round } from '../../models/model.ts'
import type { ImageLimits, ModelPrompt, OutputRequest } from '../../models/model-request.ts'
import type { ByteSlots } from '../byte-slots.ts'
import type { AnswerSoFar } from './answer-so-far.ts'
import { fieldsOf, type ReplyReader } from './read-events.ts'

/** How requests to one kind of provider are written, and how its answers are read. */
export type Protocol = {
  /** The path after the base URL. */
  path: string
  headers(apiKey: string): Record<string, string>
  /** Its limits for images. */
  images: ImageLimits
  /**
   * The request without `limit`. Bytes of files go where `slots` says. The body depends on nothing else, so it can be
   * measured before it is sent.
   */
  body(prompt: ModelPrompt, asked: ModelTarget, slots: ByteSlots): Record<string, unknown>
  /** What the body tells the model about the JSON that it must answer with. */
  instruction(output: OutputRequest | undefined): string
  /** The fields for the longest answer, in tokens. Null: the model's own limit. */
  limit(max_output_tokens: number | null, model: string): Record<string, number>
  reader(answer: AnswerSoFar): AnswerReader
}

/** The provider, and its own name for the model. */
export type ModelTarget = {
  provider: string
  model: string
  /** Whether the provider accepts marks for what it should cache. */
  caches: boolean
}

/**
 * An earlier answer in the provider's own format, if this provider gave it. Another provider is shown the text and
 * calls.
 */
export function ownParts({ native }: Round, { provider }: ModelTarget): unknown {
  return native?.provider === provider ? native.parts : undefined
}

/** Stands for an empty answer, because providers refuse a message without content. */
export const NO_WORDS = '(no answer)'

export type AnswerReader = {
  reply: ReplyReader
  /** What the provider needs to see again in the next round, besides text and calls. */
  native(): object | undefined
}

/** An error inside a reply that started well. */
export class ReportedError extends Error {
  /** The body of the error, as if the request had been refused. */
  readonly body: string
  /** The status that the same error has outside a stream, if its code or type is known. */
  readonly status: number | undefined

  constructor(error: unknown) {
    super(typeof error === 'string' ? error : JSON.stringify(error))
    this.body = JSON.stringify({ error })
    const { code, status, type } = fieldsOf(error)
    this.status = [code, status, type].map(statusOf).find((named) => named !== undefined)
  }
}

/** Vendors' names for their errors. */
const STATUSES: Record<string, number> = {
  invalid_request_error: 400,
  context_length_exceeded: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  internal_server_error: 500,
  service_unavailable: 503,
  timeout_error: 504,
  overloaded_error: 529,
}

/** Reads a status from a number, a number in a string, or a name. */
function statusOf(named: unknown): number | undefined {
  const status = typeof named === 'string' ? (STATUSES[named] ?? Number(named)) : named
  const isStatus = typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599
  return isStatus ? status : undefined
}
