import type { ToolApproval } from '../approvals/approval-policy.ts'
import type { CallAsk } from '../approvals/ask.ts'
import type { Attachment, ToolFile } from '../attachments/attachment.ts'
import type { Deadline } from '../deadline.ts'
import type { ToolDefinition } from '../models/model.ts'
import type { Log, ToolResult } from '../outcome.ts'
import type { SchemaCheck } from '../schemas/schema-check.ts'
import type { Retry } from '../spec.ts'
import type { ModelSpend } from '../steps.ts'
import type { AgentTool } from './called-agent.ts'
import type { MissingGrant, RunConnections } from './connections/connected.ts'
import type { Redact, Secrets } from './fill-secrets.ts'

/** The parts of WHATWG fetch that tools need. `owner` is the agent that calls. */
export type Fetch = (url: string | URL | Request, init?: RequestInit & { owner?: string }) => Promise<Response>

/** The outside world as a run's tools see it. */
export type ToolWorld = {
  fetch: Fetch
  secrets: Secrets
  connections: RunConnections
  redact: Redact
  deadline: Pick<Deadline, 'signal'>
  log: Log
  schemaCheck: SchemaCheck
  project_id: string
  agent_id: string
  /** How long people have to decide, unless a tool says otherwise. */
  expires_after_seconds: number
  /** The run's user, or undefined if the run has no user. */
  user_id: string | undefined
  /**
   * Stores files of a tool's result. Throws FileNotKept. Undefined if nothing can be stored; then files are only named.
   */
  keepFile: ((file: ToolFile) => Promise<Attachment>) | undefined
  askAgent: AskAgent
}

/**
 * Asks another agent and returns its answer. Throws ToolError if the agent can't be asked, and `Waits` until it has
 * answered; then the call is made again. `key` identifies the call, so the agent is asked only once.
 */
export type AskAgent = (
  tool: AgentTool,
  asked: { message: string; key: string; traceparent: string | undefined },
) => Promise<CallResult>

export type RunTool = {
  definition: ToolDefinition
  retry: Retry
  approval: ToolApproval
  /** The connections whose tokens it sends. Without them, the run waits until the user has signed in. */
  connections?: readonly string[]
  /** The model isn't offered it. It can only be called because it was offered before. */
  isHidden?: boolean
  /** Set if the tool is never called, because a person answers instead. */
  isQuestion?: true
  /** The result for the model. Throws ToolError for errors that the model should see. */
  call(args: Record<string, unknown>, headers: CallHeaders): Promise<CallResult>
}

/**
 * `spent` is present if the call used models, `below` if it called another agent, and `began_at` if an earlier attempt
 * started it. With `ask`, the call was refused, and can be made when people have decided.
 */
export type CallResult = ToolResult & { spent?: ModelSpend; below?: ModelSpend; began_at?: number; ask?: CallAsk }

/** A failed tool call. The message is for the model, the receipt and the log. */
export class ToolError extends Error {}

/** The server refused the call until the user has signed in again and allowed more. */
export class NeedsGrant extends ToolError {
  readonly missing: MissingGrant

  constructor(missing: MissingGrant) {
    super('The user has not allowed this')
    this.missing = missing
  }
}

/**
 * The headers of every tool call. `Idempotency-Key` identifies the call, so a server that receives it twice can do the
 * work only once. `traceparent` names the trace, if there is one.
 */
export type CallHeaders = Readonly<Record<string, string>>

export const MAX_RESULT_BYTES = 256 * 1024

/** The message for a failed request: the host and a code, never the resolved address. */
export function requestError(error: unknown, url: URL): ToolError {
  const { code, cause, message } = error as { code?: unknown; cause?: { code?: unknown }; message?: string }
  // Our own guard has refused the URL. Its message says which setting to change.
  if (code === 'blocked_address' || code === 'invalid_url') {
    return new ToolError(`The request to ${url.host} was refused (${code}): ${message}`)
  }
  const known = [code, cause?.code].find((candidate) => typeof candidate === 'string')
  return new ToolError(`The request to ${url.host} failed${known ? ` (${known})` : ''}`)
}
