import type { SignInLink } from '../tools/connections/connected.ts'

/**
 * What a person is asked: whether a tool may be called, a question from the agent, whether a call with an unknown outcome
 * may be repeated, or to sign in to a connection.
 */
export type AskKind = 'tool' | 'question' | 'retry' | 'connection'

/** Something that a run cannot continue without. */
export type Ask = {
  /** The call's ID within its run. */
  call_id: string
  /** The position of the call in the answer that requested it. */
  index: number
  kind: AskKind
  tool: string
  /** For people to read, unchanged except that the service's secrets are removed. */
  arguments: Record<string, unknown>
  /** The JSON Schema of the arguments. */
  input_schema: Record<string, unknown>
  expires_after_seconds: number
  /** For a sign-in: to what, whose, and where. With `grant_id`, another sign-in than that one is needed. */
  connection?: { id: string; holder: string; grant_id?: string | undefined; link: SignInLink }
}

/** What is asked about a call, without its place in the run. */
export type CallAsk = Omit<Ask, 'call_id' | 'index'>

/** The decision. `expired` means that no person decided in time. */
export type Ruling = {
  kind: AskKind
  call_id: string
  tool: string
  decision: 'approved' | 'rejected' | 'expired'
  /** The id of the key or token; null if no person decided. */
  by: string | null
  /** The arguments with which the call is made instead. */
  arguments?: Record<string, unknown> | undefined
  /** The message to the model after a rejection. */
  note?: string | undefined
  /** The answer to a question. */
  answer?: string | undefined
}
