import { AgentFailure, type ToolResult } from '../outcome.ts'

export type ToolDefinition = {
  name: string
  description: string
  input_schema: Record<string, unknown>
  /** The provider is to hold the model to the schema, if it can. */
  strict?: true
}

/** `arguments` is the JSON that the model wrote. It may be malformed. */
export type ToolCall = {
  id: string
  name: string
  arguments: string
  /** The tool is the caller's. The call ends the answer. */
  handed?: true
  /** The answer was cut off within the call. It is not made, and the model hears why. */
  cut?: true
}

export type ModelAnswer = {
  calls: readonly ToolCall[]
  finish: 'stop' | 'length' | 'filtered'
  /** The name that the provider gives the model that has answered. */
  model?: string
  /** What it said, beside its calls too. */
  text?: string
  native?: NativeParts
}

/** What an answer has in the provider's own format, such as signed thoughts. It goes back to this provider only, unread. */
export type NativeParts = { provider: string; parts: unknown }

/**
 * An earlier answer, and the results of the tools that it called. A call that has no result yet has null or nothing.
 * `told` is what we say after it, to be answered next.
 */
export type Round = ModelAnswer & { results: (ToolResult | null)[]; told?: string }

/** The model did not answer. `retry` means that the same request may succeed later. */
export class ModelFailure extends AgentFailure {
  readonly retry: { after_ms: number | undefined } | undefined
  /** The field of the request that the provider refuses, if it names one. */
  refused: string | undefined
  /** The provider refuses images: those of this request, or all. */
  refusedImages: 'these' | 'all' | undefined

  constructor(message: string, detail: Record<string, unknown> = {}, retry?: { after_ms: number | undefined }) {
    super(message, detail)
    this.name = 'ModelFailure'
    this.retry = retry
  }
}

/** The prompt is longer than the model takes. `max_tokens` is the limit, if the model says it. */
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

/** One name, or several in the order in which they are asked. */
export type ModelNames = string | readonly string[]

export function namesOf(model: ModelNames): readonly string[] {
  return typeof model === 'string' ? [model] : model
}

/** The one that is asked first. */
export function firstName(model: ModelNames): string {
  return namesOf(model)[0] ?? ''
}

/** `provider/id`. Without a slash there is no provider. */
export function splitModelName(model: string): { provider: string; id: string } {
  const slash = model.indexOf('/')
  return { provider: model.slice(0, Math.max(0, slash)), id: model.slice(slash + 1) }
}
