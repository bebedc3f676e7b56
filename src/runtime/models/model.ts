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
  /** The tool belongs to the caller. Calling it ends the answer. */
  handed?: true
  /** The answer was cut off within the call. The call isn't made, and the model is told why. */
  cut?: true
}

export type ModelAnswer = {
  calls: readonly ToolCall[]
  finish: 'stop' | 'length' | 'filtered'
  /** The provider's name for the model that has answered. */
  model?: string
  /** The text of the answer, also if it contains calls. */
  text?: string
  native?: NativeParts
}

/**
 * The parts of an answer in the provider's own format, such as signed thoughts. They are sent back only to this
 * provider, unread.
 */
export type NativeParts = { provider: string; parts: unknown }

/**
 * An earlier answer, and the results of the tools that it called. A call without a result yet has null or nothing.
 * `told` is what the service says after it, to be answered next.
 */
export type Round = ModelAnswer & { results: (ToolResult | null)[]; told?: string }

/** The model didn't answer. `retry` means that the same request may succeed later. */
export class ModelFailure extends AgentFailure {
  readonly retry: { after_ms: number | undefined } | undefined
  /** The field of the request that the provider refuses, if it names one. */
  refused: string | undefined
  /** The provider refuses images: the ones in this request, or all. */
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

/** One name, or several in the order in which they are tried. */
export type ModelNames = string | readonly string[]

export function namesOf(model: ModelNames): readonly string[] {
  return typeof model === 'string' ? [model] : model
}

/** The model that is asked first. */
export function firstName(model: ModelNames): string {
  return namesOf(model)[0] ?? ''
}

/** `provider/id`. Without a slash there is no provider. */
export function splitModelName(model: string): { provider: string; id: string } {
  const slash = model.indexOf('/')
  return { provider: model.slice(0, Math.max(0, slash)), id: model.slice(slash + 1) }
}
