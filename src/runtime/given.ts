import type { Attachment, AttachmentInput } from './attachments/attachment.ts'
import type { Round, ToolCall, ToolDefinition } from './models/model.ts'
import type { Turn } from './outcome.ts'
import type { WantedOutput } from './output/wanted-output.ts'

/**
 * What a caller sends for one run besides its message, through a channel that supports it. These are plain values,
 * because they are stored with the run. The agent's own settings still apply.
 */
export type Given<Attached = Attachment> = {
  /** Earlier turns, which replace the session's history. */
  history?: GivenTurn<Attached>[]
  /** Added after the agent's own instructions. It never replaces them. */
  instructions?: string
  /** The model's earlier answers to the message, with the results of the tools that they called. */
  rounds?: GivenRound[]
  /** Tools that the caller runs itself. A call to one of them ends the answer. */
  tools?: ToolDefinition[]
  tool_choice?: ToolChoice
  sampling?: Sampling
  /** The form of the answer. It overrides the agent's definition. */
  output?: WantedOutput
  /** The invocation whose conversation this one continues. */
  previous?: string
  /** Whether the message is the message of `previous`, whose calls are answered by `rounds`. */
  goes_on?: boolean
  /** Data that the caller wants to read back. The service doesn't use it. */
  noted?: Record<string, unknown>
}

/**
 * One turn. An assistant's turn may have called tools before its text. With `of`, the turn is that invocation's answer.
 */
export type GivenTurn<Attached = Attachment> = Turn & {
  rounds?: GivenRound[]
  of?: string
  attachments?: readonly Attached[]
  /** The attachments that the model is shown as images. */
  images?: readonly Attachment[]
}

/** What the caller sends, before its attachments are stored as files. */
export type GivenInput = Given<AttachmentInput>

/** A call that an earlier invocation handed to its caller, and its position among that answer's calls. */
export type GivenCall = ToolCall & { of?: { request_id: string; index: number } }

export type GivenRound = Omit<Round, 'calls'> & { calls: readonly GivenCall[] }

/** Whether the model can, must or must not call tools. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string }

export type Sampling = {
  temperature?: number
  top_p?: number
  max_output_tokens?: number
  stop?: string[]
  seed?: number
  presence_penalty?: number
  frequency_penalty?: number
  /** Whether one answer can call several tools. */
  parallel_tool_calls?: boolean
  /** How much the model thinks and how much it writes. Providers that don't support this don't receive it. */
  reasoning_effort?: string
  verbosity?: string
}
