import type { Deadline } from '../deadline.ts'
import { AgentFailure, type Log, type RunInput, type ToolResult } from '../outcome.ts'

export type ToolDefinition = { name: string; description: string; input_schema: Record<string, unknown> }

/** `arguments` is JSON as the model wrote it: it may be malformed. */
export type ToolCall = { id: string; name: string; arguments: string }

export type ModelAnswer = {
  calls: readonly ToolCall[]
  finish: 'stop' | 'length' | 'filtered'
  /** The model's own form of its answer, handed back to it unread. */
  native?: unknown
}

/** An earlier answer of this run, and what the tools that it called gave back. */
export type Round = ModelAnswer & { results: ToolResult[] }

export type ModelRequest = {
  input: RunInput
  rounds: readonly Round[]
  tools: readonly ToolDefinition[]
  deadline: Deadline
  /** Takes each piece of the answer's text as it comes; there is no taking back. */
  say: (text: string) => void
  /** Takes what an attempt has cost, also one that failed. */
  spend: (usage: { input_tokens: number; output_tokens: number }) => void
  /** Whether anyone watches the pieces arrive. */
  streaming: boolean
  log: Log
}

/** The conversation goes in; text comes out through `say`, tool calls as the result. */
export type Model = { answer(request: ModelRequest): ModelAnswer | Promise<ModelAnswer> }

/** A model that did not answer; `retry` says that the same request may succeed later. */
export class ModelFailure extends AgentFailure {
  readonly retry: { after_ms: number | undefined } | undefined

  constructor(message: string, detail: Record<string, unknown> = {}, retry?: { after_ms: number | undefined }) {
    super(message, detail)
    this.name = 'ModelFailure'
    this.retry = retry
  }
}

/** The prompt is longer than the model takes; `max_tokens` is what it takes, if it says so. */
export class PromptTooLong extends ModelFailure {
  readonly max_tokens: number | undefined

  constructor(message: string, detail: Record<string, unknown>, max_tokens: number | undefined) {
    super(message, detail)
    this.max_tokens = max_tokens
  }
}

/** About four characters a token: for models that count nothing themselves. */
export function estimateTokens(characters: number): number {
  return Math.max(1, Math.ceil(characters / 4))
}
