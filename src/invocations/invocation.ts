import { z } from 'zod'
import type { Agent } from '../agents/agent.ts'
import { DEFAULT_ENVIRONMENT, Environment } from '../deployments/deployment.ts'
import type { Serving } from '../deployments/serving.ts'
import { ApiError, type ErrorCode, STATUS_OF, unavailable } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import type { Context } from '../operation/context.ts'
import { DOORS, type Door } from '../operation/door.ts'
import { eventId, type Position, type StreamEvent } from '../runtime/following/transcript.ts'
import type { Given } from '../runtime/given.ts'
import type { Round } from '../runtime/models/model.ts'
import { goesOn, type ShownCall, shownCall } from '../runtime/told-steps.ts'
import { covers } from '../security/permissions.ts'
import { KeyName, Label, Text, Time } from '../shapes.ts'
import { Pending } from './approvals/pending.ts'
import { NewCallback } from './callbacks/callback.ts'
import { presentSteps, type ReceiptStep, ReceiptStepShape, TokenUsage, transcriptOf } from './steps/receipt-steps.ts'

/**
 * queued → running → completed | failed | cancelled. The last three are final. A running one may become waiting, and is
 * queued again when it goes on. Queued and waiting ones may be cancelled too.
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

export const InvokeBody = z
  .strictObject({
    message: Text(100_000),
    context: InvocationContext.default({}),
    environment: Environment.default(DEFAULT_ENVIRONMENT),
    callback: NewCallback.optional().describe('Hears how a run in the background ends'),
  })
  .meta({ id: 'Invoke' })

export const InvocationParams = z.strictObject({ agent_id: z.string(), request_id: z.string() })

export const InvocationResult = z
  .object({
    response: z.string(),
    request_id: z.string(),
    tokens_used: z.int(),
    duration_ms: z.int(),
  })
  .meta({ id: 'InvocationResult' })

export const QueuedReply = z
  .object({
    request_id: z.string(),
    status: z.enum(['queued', 'waiting']),
    approvals: z.array(Pending).optional().describe('What people must decide before it goes on'),
  })
  .meta({ id: 'InvocationQueued' })

const ErrorSummary = z.object({ code: z.enum(Object.keys(STATUS_OF) as [ErrorCode]), message: z.string() })

const HandedCall = z.object({ id: z.string(), name: z.string(), arguments: z.unknown() })

export const Receipt = z
  .object({
    request_id: z.string(),
    agent_id: z.string(),
    status: InvocationStatus,
    door: z.enum(DOORS).describe('Where it was asked for: the API, a door for other clients, the host, or a schedule'),
    background: z.boolean(),
    environment: z.string(),
    version: z.string().nullable().describe('null: the working copy'),
    deployment_id: z.string().nullable(),
    message: z.string(),
    context: z.record(z.string(), z.unknown()),
    response: z.string().nullable(),
    calls: z.array(HandedCall).describe("The calls of its caller's own tools with which the answer ended"),
    error: ErrorSummary.nullable(),
    tokens_used: z.int(),
    usage: TokenUsage,
    steps: z.array(ReceiptStepShape).describe('What it has done, in the order in which it ended'),
    duration_ms: z.int().nullable(),
    schedule_id: z.string().nullable().describe('The schedule that began it'),
    scheduled_at: Time.nullable().describe('The tick of the schedule that it is for; null when somebody began it'),
    created_by: z.string(),
    created_by_name: KeyName,
    created_at: Time,
    started_at: Time.nullable(),
    finished_at: Time.nullable(),
    erased_at: Time.nullable().describe('When its texts were erased'),
  })
  .meta({ id: 'Invocation' })

/** An invocation as the service stores it. */
export type Invocation = {
  id: string
  agent_seq: number
  status: InvocationStatus
  door: Door
  /** How often its run has begun. */
  attempt: number
  background: boolean
  /** It was asked for with an Idempotency-Key. It goes on after a crash, like one in the background. */
  keyed: boolean
  environment: string
  version: string | null
  deployment_id: string | null
  message: string
  context: z.output<typeof InvocationContext>
  /** What its caller gave besides the message. */
  given: Given | null
  response: string | null
  /** What the model answered, if it ended with calls of its caller's own tools. */
  rounds: readonly Round[] | null
  error: z.output<typeof ErrorSummary> | null
  input_tokens: number
  output_tokens: number
  tokens_used: number
  steps: ReceiptStep[]
  duration_ms: number | null
  /** The schedule that began it, and the tick that it is for. Null when a request began it. */
  schedule_id: string | null
  scheduled_at: number | null
  created_by: string
  /** Whether its starter has not, or may lose, the right to see what others have started. */
  own: boolean
  created_at: number
  started_at: number | null
  finished_at: number | null
  erased_at: number | null
}

/** What is asked of an agent. */
export type Asked = z.output<typeof InvokeBody>

/** Who begins it, and how. A schedule has only the id of its maker. */
type Beginning = Pick<Context, 'door' | 'mode' | 'now' | 'repeatable' | 'request_id'> & {
  actor: Pick<Actor, 'id'> & Partial<Actor>
}

/** An invocation that begins now, or is queued. */
export function newInvocation(
  asked: Asked,
  agent: Agent,
  served: Serving,
  { actor, door, mode, now, repeatable, request_id }: Beginning,
): Invocation {
  const time = now()
  const background = mode === 'background'
  return {
    id: request_id,
    agent_seq: agent.seq,
    status: background ? 'queued' : 'running',
    door,
    attempt: background ? 0 : 1,
    background,
    keyed: repeatable !== undefined && !background,
    environment: asked.environment,
    version: served.version,
    deployment_id: served.deployment_id,
    message: asked.message,
    context: asked.context,
    given: null,
    response: null,
    rounds: null,
    error: null,
    input_tokens: 0,
    output_tokens: 0,
    tokens_used: 0,
    steps: [],
    duration_ms: null,
    schedule_id: null,
    scheduled_at: null,
    created_by: actor.id,
    own: mayLackRead(actor),
    created_at: time,
    started_at: background ? null : time,
    finished_at: null,
    erased_at: null,
  }
}

/** The permissions of a key never change. Those of the next token with the same subject may be fewer. */
function mayLackRead({ kind, permissions = [] }: Beginning['actor']): boolean {
  return kind === 'token' || !covers(permissions, 'read')
}

/** An invocation that has ended. */
export type EndedInvocation = Invocation & { status: FinalStatus; duration_ms: number; finished_at: number }

/** An invocation whose run goes on later. `duration_ms` is how long it has run so far. */
export type WaitingInvocation = Invocation & { status: 'waiting'; duration_ms: number }

/** Ends an invocation that has no run, or whose run could not end it. */
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

export const CANCELLED = { code: 'conflict', message: 'The invocation was cancelled' } as const

/** Nobody asked for this end, so the client may try again. */
export const STOPPED = { code: 'unavailable', message: 'The service stopped before the agent had answered' } as const

type PresentInvocation = z.input<typeof Receipt> & Pick<Invocation, 'given' | 'rounds'>

/** The receipt. What is not in its shape is for doors. */
export function presentInvocation(invocation: Invocation, agent_id: string): PresentInvocation {
  const { id, input_tokens: _input, output_tokens: _output, tokens_used, ...rest } = invocation
  const usage = usageOf(invocation)
  const steps = presentSteps(shownSteps(invocation, usage))
  return { ...rest, request_id: id, agent_id, calls: handedCalls(rest), tokens_used, usage, steps }
}

export function usageOf({ input_tokens, output_tokens, tokens_used }: Invocation): z.output<typeof TokenUsage> {
  return { input_tokens, output_tokens, total_tokens: tokens_used }
}

/** The calls that were left to the caller. They are in the last answer. */
export function handedCalls({ rounds }: Pick<Invocation, 'rounds'>): (ShownCall & { index: number })[] {
  const calls = rounds?.at(-1)?.calls ?? []
  return calls.flatMap((call, index) => (call.handed ? [{ ...shownCall(call), index }] : []))
}

/** If a run asked the model only once, the receipt's own fields tell everything, and its step is not stored. */
export function shownSteps(invocation: Invocation, usage: z.output<typeof TokenUsage>): ReceiptStep[] {
  const { status, steps, attempt, started_at, finished_at, duration_ms, response } = invocation
  if (status !== 'completed' || steps.length > 0) return steps
  const times = { attempt, started_at, finished_at, duration_ms: duration_ms ?? 0 }
  return [{ kind: 'model', ...times, usage, characters: response?.length ?? 0 }]
}

/** What clients of the API get, and for doors, which tell more, the receipt. */
type Result = z.input<typeof InvocationResult> & { receipt(): PresentInvocation }

export function resultOf(invocation: Invocation, agent_id: string): Result {
  const { id, response, tokens_used, duration_ms } = invocation
  const receipt = () => presentInvocation(invocation, agent_id)
  return { response: response ?? '', request_id: id, tokens_used, duration_ms: duration_ms ?? 0, receipt }
}

/** Throws the error of an invocation that did not complete. */
export function getResult(ended: Invocation, agent_id: string): Result {
  if (ended.status !== 'completed') throw failureOf(ended)
  return resultOf(ended, agent_id)
}

/** The error for an invocation that did not complete: the one in its receipt. */
export function failureOf({ error }: Invocation): ApiError {
  const { code, message } = error ?? { code: 'server_error', message: 'The agent failed' }
  return code === 'unavailable' ? unavailable(message) : new ApiError(code, message)
}

export function startEvent(request_id: string, attempt = 1): StreamEvent {
  return { id: eventId({ attempt, characters: 0, tools: 0 }), event: 'start', data: { request_id } }
}

/** Tells a client that has read a part of an earlier attempt that the answer begins again. */
function restartEvent(request_id: string, attempt: number): StreamEvent {
  return { ...startEvent(request_id, attempt), event: 'restart' }
}

/**
 * The event that a client must get before those of this attempt, or undefined. `milestones` are the points from which
 * the attempt goes on.
 */
export function openingEvent(
  request_id: string,
  attempt: number,
  told: Position | undefined,
  milestones: readonly Position[],
): StreamEvent | undefined {
  if (!told) return startEvent(request_id, attempt)
  return told.attempt < attempt && !goesOn(told, milestones) ? restartEvent(request_id, attempt) : undefined
}

/** The events of a repeated answer. */
export function replayEvents({ request_id, response }: z.output<typeof InvocationResult>): StreamEvent[] {
  const transcript = transcriptOf({ attempt: 1, response, steps: [] }, [])
  return [startEvent(request_id), ...transcript.after({ characters: 0, tools: 0 })]
}
