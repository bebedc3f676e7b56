import { AgentFailure, type ToolResult } from '../outcome.ts'

export type ToolDefinition = {
  name: string
  description: string
  input_schema: Record<string, unknown>
  /** The provider should enforce the schema, if it can. */
  strict?: true
}

/** `arguments` is the JSON that the model wrote. It may be malformed. */
export type ToolCall = {
  id: string
  name: string
  arguments: string
  /** Set if the tool belongs to the caller. Calling it ends the answer. */
  handed?: true
  /** Set if the answer was cut off within the call. The call isn't made, and the model receives the reason. */
  cut?: true
}

export type ModelAnswer = {
  calls: readonly ToolCall[]
  finish: 'stop' | 'length' | 'filtered'
  /** The provider's name for the model that has answered. */
  model?: string
  /** The text of the answer, present even if the answer contains calls. */
  text?: string
  native?: NativeParts
}

/**
 * The parts of an answer in the provider's own format, such as signed thoughts. The service doesn't read them, and
 * sends them back only to the same provider.
 */
export type NativeParts = { provider: string; parts: unknown }

/**
 * An earlier answer, and the results of the tools that it called. A call that has no result yet has null or nothing.
 * `told` is what the service adds after the results, such as what was wrong with the answer.
 */
export type Round = ModelAnswer & { results: (ToolResult | null)[]; told?: string }

/** The model didn't answer. `retry` is set if the same request may succeed later. */
export class ModelFailure extends AgentFailure {
  readonly retry: { after_ms: number | undefined } | undefined
  /** The field of the request that the provider refuses, if it names one. */
  refused: string | undefined
  /** Set if the provider refuses images: the ones in this request, or all images. */
  refusedImages: 'these' | 'all' | undefined

  constructor(message: string, detail: Record<string, unknown> = {}, retry?: { after_ms: number | undefined }) {
    super(message, detail)
    this.name = 'ModelFailure'
    this.retry = retry
  }
}

/** The prompt is longer than the model accepts. `max_tokens` is the limit, if the model reports it. */
export class PromptTooLong extends ModelFailure {
  readonly max_tokens: number | undefined

  constructor(message: string, detail: Record<string, unknown>, max_tokens: number | undefined) {
    super(message, detail)
    this.max_tokens = max_tokens
  }
}

/** About four characters per token, for models that do not count tokens. */
export function estimateTokens(characters: number): number {
  return Math.max(1, Math.ceil(characters / 4))
}

/** One model's name, or several names in the order in which they are tried. */
export type ModelNames = string | readonly string[]

export function namesOf(model: ModelNames): readonly string[] {
  return typeof model === 'string' ? [model] : model
}

/** The name of the model that is asked first. */
export function firstName(model: ModelNames): string {
  return namesOf(model)[0] ?? ''
}

/** Splits `provider/id`. Without a slash, there is no provider. */
export function splitModelName(model: string): { provider: string; id: string } {
  const slash = model.indexOf('/')
  return { provider: model.slice(0, Math.max(0, slash)), id: model.slice(slash + 1) }
}
