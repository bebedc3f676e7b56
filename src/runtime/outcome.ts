import type { Attachment } from './attachments/attachment.ts'

/** What one side said in a session. */
export type Turn = { role: 'user' | 'assistant'; content: string }

/** `handed` is present if the tool is the caller's own: the position of the call in its answer. */
export type RunEvent =
  | { type: 'delta'; text: string }
  /**
   * A piece of an unchecked answer: the position of the piece, and which answer of the run it belongs to. If an answer
   * doesn't fit, another one follows. The one that fits is then sent as `delta`.
   */
  | { type: 'output.delta'; text: string; answer: number; at: number }
  | { type: 'tool_call'; id: string; name: string; arguments: unknown; handed?: number }
  | ({ type: 'tool_result'; id: string; name: string } & ToolResult)

/** One tool call and its result. */
export type ToolStep = { id: string; name: string; arguments: unknown; duration_ms: number } & ToolResult
export type ToolResult = ToolAnswer | { error: string; child?: ChildName }
/** `files` are the tool's results besides text. The text names them. `child` is present if an agent has answered. */
export type ToolAnswer = { result: string; files?: readonly Attachment[]; child?: ChildName }

/** Another agent's run that a call started. */
export type ChildName = { request_id: string; agent_id: string; agent: string }

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogEntry = { timestamp: number; level: LogLevel; message: string; metadata: Record<string, unknown> }
export type Log = (level: LogLevel, message: string, metadata?: Record<string, unknown>) => void

/** A failure whose message can be shown to clients. `detail` is for the agent's log only. */
export class AgentFailure extends Error {
  readonly detail: Record<string, unknown>

  constructor(message: string, detail: Record<string, unknown> = {}) {
    super(message)
    this.name = 'AgentFailure'
    this.detail = detail
  }
}
