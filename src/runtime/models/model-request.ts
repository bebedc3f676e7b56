import type { OpenFile } from '../attachments/attachment.ts'
import type { Deadline } from '../deadline.ts'
import type { Log } from '../outcome.ts'
import type { WantedOutput } from '../output/wanted-output.ts'
import type { ModelInput } from '../run-input.ts'
import type { ModelAnswer, Round, ToolDefinition } from './model.ts'
import type { TokenCount } from './usage.ts'

/** The answer must be JSON, so no tool can be called. */
export type OutputRequest = {
  schema: Record<string, unknown>
  /** The provider doesn't accept schemas, so the prompt describes this one in words. */
  inWords: boolean
}

/** What a model is shown. */
export type ModelPrompt = {
  input: ModelInput
  rounds: readonly Round[]
  tools: readonly ToolDefinition[]
  output?: OutputRequest | undefined
}

/** One sending of a prompt. */
export type ModelRequest = {
  /** Opens a file of the request while the request is written. */
  openFile: (file_id: string) => Promise<OpenFile>
  deadline: Deadline
  /** Receives each piece of the answer's text as it arrives. A piece can't be taken back. */
  say: (text: string) => void
  /** The most tokens that the answer can have. Null: the model's own limit. */
  max_output_tokens: number | null
  /** Receives the usage of an attempt, even of a failed one. */
  spend: (tokens: TokenCount) => void
  /** Whether a client reads the pieces as they arrive. */
  streaming: boolean
  log: Log
  /** Set if the run belongs to a trace. */
  trace?: CallTrace
}

export type CallTrace = {
  /** Headers for the provider. */
  headers: Record<string, string>
  /** Called when the first piece of the reply has arrived. */
  began(): void
  /** Receives the provider's ID of its answer. */
  named(id: string): void
}

/** The size limit of one image, and of all images in a request. */
export type ImageLimits = {
  each: number
  together: number
  /** Set if the model accepts PDFs and sees their pages. */
  documents?: true
  /** Set if the operator says that the model supports images. Otherwise, they are tried. */
  isKnown?: true
}

/** A prompt in the form in which it is sent, so what is counted is what is sent. */
export type ReadyPrompt = {
  /** Roughly how many tokens the prompt has. */
  tokens: number
  /** The most input tokens that the provider can count for it. */
  most_tokens: number
  /** What the prompt says about the form of the answer, after the instructions. */
  instruction?: () => string
  /** Sends the prompt. Text is passed to `say`, and tool calls are part of the result. */
  answer(request: ModelRequest): Promise<ModelAnswer>
}

export type ModelServer = { address: string; port: number }

export type Model = {
  /** Set if the model is built in. Its prompts have no limit, and it doesn't understand them. */
  isBuiltin?: true
  /** The provider that answers, unless the model is built in. */
  server?: ModelServer
  /** The limits for images. Absent if the model doesn't accept them. */
  images?: ImageLimits
  /** Why the model can't answer with JSON that fits a schema. */
  noOutput?: string
  prepare(prompt: ModelPrompt): ReadyPrompt
}

/** The agent's own limit, or the caller's if that is lower. Null: the model's own. */
export function maxOutputTokens({ agent, given }: ModelInput): number | null {
  const own = agent.limits.max_output_tokens
  const asked = given?.sampling?.max_output_tokens
  return asked === undefined ? own : Math.min(asked, own ?? Infinity)
}

/** The form that the caller wants for this run, or else the agent's setting. */
export function wantedOutput({ agent, given }: Pick<ModelInput, 'agent' | 'given'>): WantedOutput | undefined {
  return given?.output ?? agent.output ?? undefined
}
