import { z } from 'zod'
import { DEFAULT_ENVIRONMENT, Environment } from '../deployments/deployment.ts'
import { ApiError, type ErrorCode, STATUS_OF, unavailable } from '../errors.ts'
import type { ToolStep } from '../runtime/outcome.ts'
import { eventId, type Position, type StreamEvent, Transcript } from '../runtime/transcript.ts'
import { Label, Text, Time } from '../shapes.ts'

/** queued → running → completed | failed | cancelled; a queued one may be cancelled too. The last three are final. */
export const InvocationStatus = z.enum(['queued', 'running', 'completed', 'failed', 'cancelled'])
export type InvocationStatus = z.output<typeof InvocationStatus>

export type FinalStatus = Exclude<InvocationStatus, 'queued' | 'running'>

export function isFinal({ status }: { status: InvocationStatus }): boolean {
  return status !== 'queued' && status !== 'running'
}

const MAX_CONTEXT_BYTES = 65_536

/** `user_id` and `session_id` decide whose memory is used; every other key is the client's own. */
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
  .object({ request_id: z.string(), status: z.literal('queued') })
  .meta({ id: 'InvocationQueued' })

const ErrorSummary = z.object({ code: z.enum(Object.keys(STATUS_OF) as [ErrorCode]), message: z.string() })

const Step = z.object({
  id: z.string(),
  name: z.string(),
  arguments: z.unknown(),
  duration_ms: z.number(),
  result: z.string().optional(),
  error: z.string().optional(),
})

export const Receipt = z
  .object({
    request_id: z.string(),
    agent_id: z.string(),
    status: InvocationStatus,
    background: z.boolean(),
    environment: z.string(),
    version: z.string().nullable().describe('null: the working copy'),
    deployment_id: z.string().nullable(),
    message: z.string(),
    context: z.record(z.string(), z.unknown()),
    response: z.string().nullable(),
    error: ErrorSummary.nullable(),
    tokens_used: z.int(),
    usage: z.object({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() }),
    steps: z.array(Step).describe('The tools it called'),
    duration_ms: z.int().nullable(),
    created_by: z.string(),
    created_at: Time,
    started_at: Time.nullable(),
    finished_at: Time.nullable(),
  })
  .meta({ id: 'Invocation' })

/** An invocation as the service holds it. */
export type Invocation = {
  id: string
  agent_seq: number
  status: InvocationStatus
  /** How often its run has begun. */
  attempt: number
  background: boolean
  environment: string
  version: string | null
  deployment_id: string | null
  message: string
  context: z.output<typeof InvocationContext>
  response: string | null
  error: z.output<typeof ErrorSummary> | null
  input_tokens: number
  output_tokens: number
  tokens_used: number
  steps: ToolStep[]
  duration_ms: number | null
  created_by: string
  created_at: number
  started_at: number | null
  finished_at: number | null
}

/** An invocation that has ended, and knows when. */
export type EndedInvocation = Invocation & { status: FinalStatus; duration_ms: number; finished_at: number }

/** Ends an invocation that nobody runs, or that its run could not end itself. */
export function endWith(
  invocation: Invocation,
  status: 'failed' | 'cancelled',
  error: NonNullable<Invocation['error']>,
  now: number,
): EndedInvocation {
  const duration_ms = invocation.started_at === null ? 0 : Math.max(0, now - invocation.started_at)
  return { ...invocation, status, error, duration_ms, finished_at: now }
}

export const CANCELLED = { code: 'conflict', message: 'The invocation was cancelled' } as const

/** Nobody asked for it: the client may try again. */
export const STOPPED = { code: 'unavailable', message: 'The service stopped before the agent had answered' } as const

export function presentInvocation(invocation: Invocation, agent_id: string): z.input<typeof Receipt> {
  const { id, input_tokens, output_tokens, tokens_used, ...rest } = invocation
  return {
    ...rest,
    request_id: id,
    agent_id,
    tokens_used,
    usage: { input_tokens, output_tokens, total_tokens: tokens_used },
  }
}

export function resultOf({ id, response, tokens_used, duration_ms }: Invocation): z.input<typeof InvocationResult> {
  return { response: response ?? '', request_id: id, tokens_used, duration_ms: duration_ms ?? 0 }
}

/** What a client hears of an invocation that did not complete: the error of its receipt. */
export function failureOf({ error }: Invocation): ApiError {
  const { code, message } = error ?? { code: 'server_error', message: 'The agent failed' }
  return code === 'unavailable' ? unavailable(message) : new ApiError(code, message)
}

export function startEvent(request_id: string, attempt = 1): StreamEvent {
  return { id: eventId({ attempt, characters: 0, tools: 0 }), event: 'start', data: { request_id } }
}

/** To a client that has heard `told` of an earlier attempt: the answer begins anew. */
function restartEvent(request_id: string, attempt: number): StreamEvent {
  return { ...startEvent(request_id, attempt), event: 'restart' }
}

/** What a client must hear before it hears of this attempt, if anything. */
export function openingEvent(request_id: string, attempt: number, told: Position | undefined): StreamEvent | undefined {
  if (!told) return startEvent(request_id, attempt)
  return told.attempt < attempt ? restartEvent(request_id, attempt) : undefined
}

/** What an invocation that has ended had told. */
export function transcriptOf({
  attempt,
  response,
  steps,
}: Pick<Invocation, 'attempt' | 'response' | 'steps'>): Transcript {
  const transcript = new Transcript(attempt)
  for (const { id, name, arguments: given, duration_ms: _duration, ...result } of steps) {
    transcript.add({ type: 'tool_call', id, name, arguments: given })
    transcript.add({ type: 'tool_result', id, name, ...result })
  }
  if (response) transcript.add({ type: 'delta', text: response })
  return transcript
}

/** The events of an answer that is repeated. */
export function replayEvents({ request_id, response }: z.output<typeof InvocationResult>): StreamEvent[] {
  const transcript = transcriptOf({ attempt: 1, response, steps: [] })
  return [startEvent(request_id), ...transcript.after({ characters: 0, tools: 0 })]
}
