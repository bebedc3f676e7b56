/**
 * What a person is asked: whether a tool may be called, a question of the agent, or whether a call whose outcome is
 * unknown may be made again.
 */
export type AskKind = 'tool' | 'question' | 'retry'

/** Something that a run cannot continue without. */
export type Ask = {
  /** Names the call within its run. */
  call_id: string
  /** The position of the call in the answer that asked for it. */
  index: number
  kind: AskKind
  tool: string
  /** For people to read: as they are, but without the service's secrets. */
  arguments: Record<string, unknown>
  /** The JSON Schema of the arguments. */
  input_schema: Record<string, unknown>
  expires_after_seconds: number
}

/** The decision. `expired` means that no person decided in time. */
export type Ruling = {
  kind: AskKind
  call_id: string
  tool: string
  decision: 'approved' | 'rejected' | 'expired'
  /** The id of the key or token; null if no person decided. */
  by: string | null
  /** The call is made with these instead. */
  arguments?: Record<string, unknown> | undefined
  /** What the model gets about a rejection. */
  note?: string | undefined
  /** To a question. */
  answer?: string | undefined
}
