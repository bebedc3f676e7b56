import type { OpenFile } from '../attachments/attachment.ts'
import type { Deadline } from '../deadline.ts'
import type { Log } from '../outcome.ts'
import type { WantedOutput } from '../output/wanted-output.ts'
import type { ModelInput } from '../run-input.ts'
import type { ModelAnswer, Round, ToolDefinition } from './model.ts'
import type { TokenCount } from './usage.ts'

/** The answer is to be JSON. No tool may be called then. */
export type OutputRequest = {
  schema: Record<string, unknown>
  /** The provider does not accept schemas, so the prompt describes it in words. */
  inWords: boolean
}

/** What a model is shown. */
export type ModelPrompt = {
  input: ModelInput
  rounds: readonly Round[]
  tools: readonly ToolDefinition[]
  output?: OutputRequest | undefined
}

/** One time that a prompt is sent. */
export type ModelRequest = {
  /** Opens a file that the request shows, while it is written. */
  openFile: (file_id: string) => Promise<OpenFile>
  deadline: Deadline
  /** Takes each piece of the answer's text as it comes. A piece cannot be taken back. */
  say: (text: string) => void
  /** The most tokens that the answer may have. Null: what the model itself does. */
  max_output_tokens: number | null
  /** Takes what an attempt has used, even one that failed. */
  spend: (tokens: TokenCount) => void
  /** Whether a client reads the pieces as they come. */
  streaming: boolean
  log: Log
  /** Set if the run belongs to a trace. */
  trace?: CallTrace
}

export type CallTrace = {
  /** Headers for the provider. */
  headers: Record<string, string>
  /** The first piece of the reply has come. */
  began(): void
  /** How the provider names its answer. */
  named(id: string): void
}

/** How many bytes one image may have, and all of a request. */
export type ImageLimits = {
  each: number
  together: number
  /** It takes PDFs and looks at their pages. */
  documents?: true
  /** The operator says that the model takes them. Else it is tried. */
  isKnown?: true
}

/** A prompt as it is sent: what is counted is what is sent. */
export type ReadyPrompt = {
  /** How many tokens it has, about. */
  tokens: number
  /** More input tokens than this cannot be counted for it. */
  most_tokens: number
  /** What the prompt says about the form of the answer, in addition to the instructions. */
  instruction?: () => string
  /** Sends it. Text comes out through `say`, and tool calls as the result. */
  answer(request: ModelRequest): Promise<ModelAnswer>
}

export type ModelServer = { address: string; port: number }

export type Model = {
  /** It has no limit for its prompts, and understands nothing of them. */
  isBuiltin?: true
  /** Who answers for it, unless it is built in. */
  server?: ModelServer
  /** There unless it takes no images. */
  images?: ImageLimits
  /** Why it cannot answer with JSON that fits a schema. */
  noOutput?: string
  prepare(prompt: ModelPrompt): ReadyPrompt
}

/** The agent's own limit, and what the caller asks for if that is less. Null: the model's own. */
export function maxOutputTokens({ agent, given }: ModelInput): number | null {
  const own = agent.limits.max_output_tokens
  const asked = given?.sampling?.max_output_tokens
  return asked === undefined ? own : Math.min(asked, own ?? Infinity)
}

/** What the caller wants of this run counts; else what the agent always answers with. */
export function wantedOutput({ agent, given }: Pick<ModelInput, 'agent' | 'given'>): WantedOutput | undefined {
  return given?.output ?? agent.output ?? undefined
}
