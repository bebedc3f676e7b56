import type { Attachment, AttachmentInput } from './attachments/attachment.ts'
import type { Round, ToolCall, ToolDefinition } from './models/model.ts'
import type { Turn } from './outcome.ts'
import type { WantedOutput } from './output/wanted-output.ts'

/**
 * What a caller gives for one run besides its message, through a door that has words for it. These are plain values,
 * because they are stored with the run. The agent's own settings stay in force.
 */
export type Given<Attached = Attachment> = {
  /** Earlier turns. They are shown instead of the session's. */
  history?: GivenTurn<Attached>[]
  /** It comes after the agent's own instructions and never replaces them. */
  instructions?: string
  /** What the model has answered to the message so far, with the results of the tools that it called. */
  rounds?: GivenRound[]
  /** Tools that the caller runs itself: a call of one ends the answer. */
  tools?: ToolDefinition[]
  tool_choice?: ToolChoice
  sampling?: Sampling
  /** What the run is to answer with, whatever the agent says. */
  output?: WantedOutput
  /** The invocation whose conversation this one continues. */
  previous?: string
  /** The message is that of `previous`, whose calls `rounds` answers. */
  goes_on?: boolean
  /** What the caller wants to read again. The service does not use it. */
  noted?: Record<string, unknown>
}

/**
 * The assistant's turn may have called tools before it said something. With `of`, it is what that invocation answered.
 */
export type GivenTurn<Attached = Attachment> = Turn & {
  rounds?: GivenRound[]
  of?: string
  attachments?: readonly Attached[]
  /** Those of the attachments that the model is shown as images. */
  images?: readonly Attachment[]
}

/** As the caller gives it: before its attachments are files. */
export type GivenInput = Given<AttachmentInput>

/** A call that an earlier invocation handed to its caller, and its position among the calls of that answer. */
export type GivenCall = ToolCall & { of?: { request_id: string; index: number } }

export type GivenRound = Omit<Round, 'calls'> & { calls: readonly GivenCall[] }

/** Whether the model may, must or must not call tools. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string }

export type Sampling = {
  temperature?: number
  top_p?: number
  max_output_tokens?: number
  stop?: string[]
  seed?: number
  presence_penalty?: number
  frequency_penalty?: number
  /** Whether one answer may call several tools. */
  parallel_tool_calls?: boolean
  /** How long the model thinks, and how much it says. Providers that do not know this are not sent it. */
  reasoning_effort?: string
  verbosity?: string
}
