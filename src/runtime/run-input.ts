import type { Attachment, MessageFiles, ShownFiles } from './attachments/attachment.ts'
import type { Given, GivenTurn } from './given.ts'
import type { AgentSpec } from './spec.ts'

/** A memory that was found for this user. The best one comes first. */
export type RecalledMemory = { content: string; role: 'user' | 'assistant' | null; created_at: number }

type InvocationContext = {
  user_id?: string | undefined
  session_id?: string | undefined
  [key: string]: unknown
}

/** The input of one run. Models read it, and nothing changes it. */
export type RunInput = {
  agent: AgentSpec
  message: string
  /** Files that came with the message. */
  attachments?: readonly Attachment[] | undefined
  context: InvocationContext
  history: readonly GivenTurn[]
  /** A summary of the session so far, including turns that are no longer in the history. */
  summary?: string | undefined
  recalled: readonly RecalledMemory[]
  given?: Given | undefined
}

/** The input of a run whose agent has a model. */
export type ModelInput = RunInput & {
  /** How the model is shown files, by their IDs. */
  files?: ShownFiles
  shown?: MessageFiles
}
