import type { Deadline } from '../deadline.ts'
import { AgentFailure, type Log, type RunInput, type ToolResult } from '../outcome.ts'

export type ToolDefinition = { name: string; description: string; input_schema: Record<string, unknown> }

/** `arguments` is JSON as the model wrote it: it may be malformed. */
export type ToolCall = { id: string; name: string; arguments: string }

/** What one earlier step of this run called, and what came back. */
export type Exchange = {
  calls: readonly ToolCall[]
  results: readonly ToolResult[]
  /** The model's own form of its answer, handed back to it unread. */
  native: unknown
}

export type StepRequest = {
  input: RunInput
  exchanges: readonly Exchange[]
  tools: readonly ToolDefinition[]
  deadline: Deadline
  /** Takes each piece of the answer's text as it comes; there is no taking back. */
  say: (text: string) => void
  /** Whether anyone watches the pieces arrive. */
  streaming: boolean
  log: Log
}

export type StepAnswer = {
  calls: readonly ToolCall[]
  usage: { input_tokens: number; output_tokens: number }
  finish: 'stop' | 'length' | 'filtered'
  native?: unknown
}

/** One step: the conversation goes in, text comes out through `say`, tool calls and usage as the result. */
export type Model = { step(request: StepRequest): StepAnswer | Promise<StepAnswer> }

/** A step that failed; `retry` says that the same step may succeed later. */
export class ModelFailure extends AgentFailure {
  readonly retry: { after_ms: number | undefined } | undefined

  constructor(message: string, detail: Record<string, unknown> = {}, retry?: { after_ms: number | undefined }) {
    super(message, detail)
    this.name = 'ModelFailure'
    this.retry = retry
  }
}

/** About four characters a token: for models that count nothing themselves. */
export function estimateTokens(characters: number): number {
  return Math.max(1, Math.ceil(characters / 4))
}
