import type { Attachment } from './attachments/attachment.ts'

/** What one side said in a session. */
export type Turn = { role: 'user' | 'assistant'; content: string }

/**
 * Something that a run tells its followers. `handed` is set if the tool is the caller's own: the call's position in its
 * answer.
 */
export type RunEvent =
  | { type: 'delta'; text: string }
  /**
   * A piece of an answer that isn't checked yet: its position, and which answer of the run it belongs to. If the answer
   * doesn't fit, another one follows. The answer that fits is then sent as `delta`.
   */
  | { type: 'output.delta'; text: string; answer: number; at: number }
  | { type: 'tool_call'; id: string; name: string; arguments: unknown; handed?: number }
  | ({ type: 'tool_result'; id: string; name: string } & ToolResult)

/** One tool call and its result. */
export type ToolStep = { id: string; name: string; arguments: unknown; duration_ms: number } & ToolResult
export type ToolResult = ToolAnswer | { error: string; child?: ChildName }
/**
 * A tool's answer. `files` are its results besides text, and the text names them. `child` is present if another agent
 * answered.
 */
export type ToolAnswer = { result: string; files?: readonly Attachment[]; child?: ChildName }

/** The run of another agent that a call started. */
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
