import { z } from 'zod'
import type { Agent } from '../agents/agent.ts'
import type { ServedAgent } from '../agents/agent-snapshot.ts'
import type { Definition } from '../agents/definition.ts'
import { type ErrorCode, STATUS_OF } from '../errors.ts'
import { timeOf } from '../lib/id.ts'
import type { Actor } from '../operation/actor.ts'
import type { Context } from '../operation/context.ts'
import type { Door } from '../operation/door.ts'
import type { ShownAttachment } from '../runtime/attachments/attachment.ts'
import type { Given } from '../runtime/given.ts'
import type { Round } from '../runtime/models/model.ts'
import type { Cost } from '../runtime/models/usage.ts'
import { WantedOutput } from '../runtime/output/wanted-output.ts'
import { DEFAULT_ENVIRONMENT, Environment } from '../runtime/tools/called-agent.ts'
import { sha256 } from '../security/digest.ts'
import { Label, Text } from '../shapes.ts'
import { AskedAttachments } from './attachments/attachment-shape.ts'
import { NewCallback } from './callbacks/callback.ts'
import type { ReceiptStep } from './steps/receipt-steps.ts'

/**
 * queued → running → completed | failed | cancelled. The last three are final. A running invocation may become waiting,
 * and is queued again when it continues. Queued and waiting invocations can be cancelled too.
 */
export const InvocationStatus = z.enum(['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled'])
export type InvocationStatus = z.output<typeof InvocationStatus>

export const UNFINISHED_STATUSES = ['queued', 'running', 'waiting'] as const satisfies InvocationStatus[]

export type FinalStatus = Exclude<InvocationStatus, (typeof UNFINISHED_STATUSES)[number]>

export function isFinal({ status }: { status: InvocationStatus }): boolean {
  return !(UNFINISHED_STATUSES as readonly string[]).includes(status)
}

const MAX_CONTEXT_BYTES = 65_536

/** `user_id` and `session_id` decide which memory is used. All other keys belong to the client. */
export const InvocationContext = z
  .looseObject({ user_id: Label(256).optional(), session_id: Label(256).optional() })
  .refine(
    (context) => Buffer.byteLength(JSON.stringify(context)) <= MAX_CONTEXT_BYTES,
    'must be at most 64 KiB of JSON',
  )

/** What a background run does when a budget has no room. */
export const OnBudget = z
  .enum(['fail', 'wait'])
  .default('fail')
  .describe('What to do when a budget is used up: `fail`, or `wait` until it resets. Only background runs can wait')

export const Priority = z
  .enum(['interactive', 'normal', 'batch'])
  .describe(
    'Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority',
  )
export type Priority = z.output<typeof Priority>

export const InvokeBody = z
  .strictObject({
    message: Text(100_000),
    context: InvocationContext.default({}),
    environment: Environment.default(DEFAULT_ENVIRONMENT),
    on_budget: OnBudget,
    output: WantedOutput.optional().describe(
      "The JSON Schema that this answer must match. Overrides the agent's own `output`",
    ),
    attachments: AskedAttachments.optional().describe(
      'Files to send to the model with the message: images, PDFs and text files. `url` is downloaded, and `data` is base64. Both are stored as files',
    ),
    priority: Priority.optional(),
    callback: NewCallback.optional().describe('Called when a background run waits for a person, and when it ends'),
  })
  .meta({ id: 'Invoke' })

export const InvocationParams = z.strictObject({ agent_id: z.string(), request_id: z.string() })

/** Why an invocation failed, as clients see it. */
export const ErrorSummary = z.object({
  code: z.enum(Object.keys(STATUS_OF) as [ErrorCode]),
  message: z.string(),
  retry_after: z
    .int()
    .optional()
    .describe("When to try again, in seconds, if the model's provider or a budget reported it"),
  details: z
    .array(z.object({ field: z.string(), error: z.string() }))
    .optional()
    .describe(
      "With `budget_exceeded`: the budget, what was used, and the limit. With `output_invalid`: what doesn't match, as JSON pointers",
    ),
})

/** Why an attempt began: the run started, its wait ended, or its node stopped or died. */
export const AttemptCause = z.enum(['start', 'wait', 'lost'])

export type RunAttempt = { number: number; began_at: number; after: z.output<typeof AttemptCause> }

/** An invocation as the service stores it. */
export type Invocation = {
  id: string
  agent_seq: number
  status: InvocationStatus
  door: Door
  /** The number of attempts so far. */
  attempt: number
  /** All attempts but the first, which began at `started_at`. */
  attempts: readonly RunAttempt[] | null
  background: boolean
  /**
   * The run continues after a crash, like a background run, because its request had an Idempotency-Key or it was in line
   * for its session.
   */
  keyed: boolean
  on_budget: z.output<typeof OnBudget>
  environment: string
  version: string | null
  deployment_id: string | null
  message: string
  context: z.output<typeof InvocationContext>
  /** The files of the message, and how the model was shown them. */
  attachments: readonly ShownAttachment[] | null
  /** What its caller sent in addition to the message. */
  given: Given | null
  response: string | null
  /** Whether the client requested JSON, so the response is JSON. */
  structured: boolean
  /** The model's answer, if it ended with calls to the caller's own tools. */
  rounds: readonly Round[] | null
  error: z.output<typeof ErrorSummary> | null
  input_tokens: number
  output_tokens: number
  tokens_used: number
  cost_nano: Cost
  steps: ReceiptStep[]
  duration_ms: number | null
  /** The schedule that started the run, and the tick. Null if a request started it. */
  schedule_id: string | null
  /** The keys that created or changed that schedule, as JSON. */
  authors: string | null
  scheduled_at: number | null
  /** The run that called this run's agent, and the key of that call. Null if a request or a schedule started it. */
  parent_request_id: string | null
  call_key: string | null
  tree: TreePlace | null
  /**
   * When the time limit that this run shares with its caller's other runs ends. If null, each attempt has the agent's
   * full time limit.
   */
  deadline_at: number | null
  created_by: string
  /** The person who started the run, with a role or with a personal key. */
  person_id: string | null
  created_at: number
  started_at: number | null
  finished_at: number | null
  erased_at: number | null
}

/** The run's place in a tree of runs. Set once the run has called another or was called by one. */
export type TreePlace = {
  /** How many runs are above this one. */
  depth: number
  /** The agent whose memory the run reads, or null. The run only ever writes to its own agent's memory. */
  memory_of: string | null
  /** The trace that the run's attempts belong to. */
  traceparent?: string | undefined
}

/** What a caller sends to an agent. */
export type InvokeBody = z.output<typeof InvokeBody>

/** Who starts the invocation, and how. For a schedule, only its maker's ID is known. */
type RunStart = Pick<Context, 'door' | 'mode' | 'now' | 'repeatable' | 'request_id'> & {
  actor: Pick<Actor, 'id'> & Partial<Actor>
}

/** An invocation that starts now or is queued. */
export function newInvocation(
  asked: InvokeBody,
  agent: Agent,
  served: ServedAgent,
  { actor, door, mode, now, repeatable, request_id }: RunStart,
): Invocation {
  const background = mode === 'background'
  return {
    id: request_id,
    agent_seq: agent.seq,
    status: background ? 'queued' : 'running',
    door,
    attempt: background ? 0 : 1,
    attempts: null,
    background,
    keyed: repeatable !== undefined && !background,
    on_budget: asked.on_budget,
    environment: asked.environment,
    version: served.version,
    deployment_id: served.deployment_id,
    message: asked.message,
    context: asked.context,
    attachments: null,
    given: asked.output ? { output: asked.output } : null,
    response: null,
    structured: false,
    rounds: null,
    error: null,
    input_tokens: 0,
    output_tokens: 0,
    tokens_used: 0,
    cost_nano: 0,
    steps: [],
    duration_ms: null,
    schedule_id: null,
    authors: null,
    scheduled_at: null,
    parent_request_id: null,
    call_key: null,
    tree: null,
    deadline_at: null,
    created_by: actor.id,
    person_id: actor.person_id ?? null,
    // Lists are ordered by ID, and IDs begin with this time.
    created_at: timeOf(request_id),
    started_at: background ? null : now(),
    finished_at: null,
    erased_at: null,
  }
}

/** Without a user or a session, the invocation can't be remembered. */
export function isStateless({ user_id, session_id }: Invocation['context']): boolean {
  return user_id === undefined && session_id === undefined
}

/** Whether the run uses its own agent's memory. A run that another agent calls may use that agent's memory, or none. */
export function hasOwnMemory({ tree }: Invocation, { id }: Agent): boolean {
  return tree === null || tree.memory_of === id
}

/** The session in which the run takes its turn. Undefined if it waits for no other run. */
export function turnOf(invocation: Invocation, { sessions }: Pick<Definition, 'sessions'>): string | undefined {
  if (invocation.context.session_id === undefined || sessions.while_busy === 'parallel') return undefined
  return sessionKey(invocation)
}

/** The key of the run's session. */
export function sessionKey({ agent_seq, context: { user_id, session_id } }: Invocation): string {
  return sha256(JSON.stringify([agent_seq, user_id ?? null, session_id]))
}

const AGEING_MS = 15 * 60_000

const MOVED_BY: Record<Priority, number> = { interactive: -AGEING_MS, normal: 0, batch: AGEING_MS }

/** Queued runs with lower ranks begin first. A rank is the arrival time shifted by the priority, so no run starves. */
export function rankOf({ created_at }: Invocation, priority: Priority): number {
  return created_at + MOVED_BY[priority]
}

/** An invocation that has ended. */
export type EndedInvocation = Invocation & { status: FinalStatus; duration_ms: number; finished_at: number }

/** An invocation whose run continues later. `duration_ms` is how long it has run so far. */
export type WaitingInvocation = Invocation & { status: 'waiting'; duration_ms: number }

/** Ends an invocation that has no run, or whose run couldn't end it. */
export function endWith(
  invocation: Invocation,
  status: 'failed' | 'cancelled',
  error: NonNullable<Invocation['error']>,
  now: number,
): EndedInvocation {
  const { started_at, duration_ms } = invocation
  const worked_ms = duration_ms ?? (started_at === null ? 0 : Math.max(0, now - started_at))
  return { ...invocation, status, error, duration_ms: worked_ms, finished_at: now }
}

export const CANCELLED = { code: 'conflict', message: 'The invocation was cancelled.' } as const

/** The client didn't ask for this end, so it may try again. */
export const STOPPED = { code: 'unavailable', message: 'The service stopped before the agent had answered.' } as const
