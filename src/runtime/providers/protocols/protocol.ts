import type { ModelAnswer } from '../../models/model.ts'
import type { ImageLimits, ModelPrompt } from '../../models/model-request.ts'
import type { ByteSlots } from '../byte-slots.ts'
import type { AnswerSoFar } from './answer-so-far.ts'
import type { ReplyReader } from './read-events.ts'

/** How one kind of provider is asked, and how it answers. */
export type Protocol = {
  /** Behind the base URL. */
  path: string
  headers(apiKey: string): Record<string, string>
  /** What it takes of images. */
  images: ImageLimits
  /**
   * What is sent, but for `limit`. `model` is the provider's own name of it. Bytes of files go where `slots` says. It depends
   * on nothing else, so that it can be measured before it is sent.
   */
  body(prompt: ModelPrompt, model: string, slots: ByteSlots): Record<string, unknown>
  /** The fields of the longest answer, in tokens. Null: what the model itself does. */
  limit(max_output_tokens: number | null, model: string): Record<string, number>
  reader(answer: AnswerSoFar): AnswerReader
}

/** Stands for an answer that was empty: providers refuse a message without content. */
export const NO_WORDS = '(no answer)'

export type AnswerReader = {
  reply: ReplyReader
  /** What the provider wants to be shown again in the next round. */
  native(): NonNullable<ModelAnswer['native']>
}

/** The provider reported an error inside its stream. */
export class ReportedError extends Error {
  constructor(error: unknown) {
    super(typeof error === 'string' ? error : JSON.stringify(error))
  }
}
