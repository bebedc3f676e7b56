import type { Deadline } from '../deadline.ts'
import { AgentFailure, type Log, type RunInput, type ToolResult } from '../outcome.ts'

export type ToolDefinition = { name: string; description: string; input_schema: Record<string, unknown> }

/** `arguments` is the JSON that the model wrote. It may be malformed. */
export type ToolCall = { id: string; name: string; arguments: string }

export type ModelAnswer = {
  calls: readonly ToolCall[]
  finish: 'stop' | 'length' | 'filtered'
  /** The answer in the provider's own format. We pass it back to the model without reading it. */
  native?: unknown
}

/** An earlier answer of this run, and the results of the tools that it called. */
export type Round = ModelAnswer & { results: ToolResult[] }

export type ModelRequest = {
  input: RunInput
  rounds: readonly Round[]
  tools: readonly ToolDefinition[]
  deadline: Deadline
  /** Takes each piece of the answer's text as it comes. A piece cannot be taken back. */
  say: (text: string) => void
  /** Takes the cost of an attempt, even of one that failed. */
  spend: (usage: { input_tokens: number; output_tokens: number }) => void
  /** Whether somebody reads the pieces as they come. */
  streaming: boolean
  log: Log
  /** Headers for the provider, where the run belongs to a trace. */
  headers?: Record<string, string>
}

/** The conversation goes in. Text comes out through `say`, and tool calls as the result. */
export type Model = { answer(request: ModelRequest): ModelAnswer | Promise<ModelAnswer> }

/** The model did not answer. `retry` means that the same request may succeed later. */
export class ModelFailure extends AgentFailure {
  readonly retry: { after_ms: number | undefined } | undefined

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
