import type { Given, GivenTurn } from './given.ts'
import type { AgentSpec } from './spec.ts'

/** A memory found for this user, best first. */
export type Recalled = { content: string; role: 'user' | 'assistant' | null; created_at: number }

type InvocationContext = {
  user_id?: string | undefined
  session_id?: string | undefined
  [key: string]: unknown
}

/** The input of one run. Models read it, and nothing changes it. */
export type RunInput = {
  agent: AgentSpec
  message: string
  context: InvocationContext
  history: readonly GivenTurn[]
  recalled: readonly Recalled[]
  given?: Given | undefined
}
