import { z } from 'zod'
import { RunFailure } from '../errors.ts'
import { DOORS } from '../operation/door.ts'
import { addTokens, NO_USAGE, type Usage, usdOf } from '../runtime/models/usage.ts'
import { WantedOutput } from '../runtime/output/wanted-output.ts'
import { type ShownCall, shownCall } from '../runtime/told-steps.ts'
import { CostUsd, KeyName, Time } from '../shapes.ts'
import { Pending } from './approvals/pending.ts'
import { NamedFile, ReceiptAttachment } from './attachments/attachment-shape.ts'
import { FeedbackReply } from './feedback/feedback.ts'
import { AttemptCause, ErrorSummary, type Invocation, InvocationStatus } from './invocation.ts'
import { QueueShape } from './queue/why-queued.ts'
import { presentSteps, ReceiptStepShape, TokenUsage } from './steps/receipt-steps.ts'

/** Absent if the answer is text. */
const OutputValue = z
  .unknown()
  .optional()
  .describe('The structured output, if a JSON Schema was set. `response` contains it as text')

export const InvocationResult = z
  .object({
    response: z.string(),
    output: OutputValue,
    files: z.array(NamedFile).readonly().optional().describe('What its tools returned in addition to text'),
    request_id: z.string(),
    tokens_used: z.int(),
    duration_ms: z.int(),
  })
  .meta({ id: 'InvocationResult' })

export const QueuedReply = z
  .object({
    request_id: z.string(),
    status: z.enum(['queued', 'waiting']),
    approvals: z.array(Pending).optional().describe('What people must decide before it continues'),
    reason: z
      .string()
      .optional()
      .describe('Why it waits, if not for people: for example because its project or the service is paused'),
  })
  .meta({ id: 'InvocationQueued' })

const HandedCall = z.object({ id: z.string(), name: z.string(), arguments: z.unknown() })

const AttemptShape = z.object({
  number: z.int(),
  began_at: Time,
  after: AttemptCause.describe(
    '`start`: the run started. `wait`: it continued after waiting. `lost`: the node that ran it stopped or failed',
  ),
})

export const Receipt = z
  .object({
    request_id: z.string(),
    agent_id: z.string(),
    status: InvocationStatus,
    asks_people: z.boolean().optional().describe('While it waits: whether people must decide something first'),
    queue: QueueShape.optional().describe(
      'While it is queued: why it has not started. Only in the receipt of one invocation, not in lists',
    ),
    door: z
      .enum(DOORS)
      .describe(
        'Where the request came from: the API, another client protocol, a command on the server, a schedule, or the console',
      ),
    background: z.boolean(),
    environment: z.string(),
    version: z.string().nullable().describe('null: the draft'),
    deployment_id: z.string().nullable(),
    message: z.string(),
    context: z.record(z.string(), z.unknown()),
    attachments: z.array(ReceiptAttachment).describe('The files that came with the message'),
    response: z.string().nullable(),
    output: OutputValue,
    output_wanted: WantedOutput.optional().describe(
      "The request's own `output`, if it had one. Only in the receipt of one invocation, not in lists",
    ),
    feedback: z
      .array(FeedbackReply)
      .optional()
      .describe('What users and applications said about the answer; missing if no one has rated it'),
    calls: z.array(HandedCall).describe("The calls of the client's own tools that the answer ended with"),
    error: ErrorSummary.nullable(),
    model: z.string().nullable().describe('The last model that answered; null if none has yet'),
    tokens_used: z.int(),
    usage: TokenUsage,
    cost_usd: CostUsd,
    steps: z.array(ReceiptStepShape).describe("The run's steps, in the order in which they ended"),
    attempts: z
      .array(AttemptShape)
      .describe('How many times the run was started, and why. Each time a run resumes, a new attempt starts'),
    duration_ms: z.int().nullable(),
    schedule_id: z.string().nullable().describe('The schedule that started it'),
    scheduled_at: Time.nullable().describe(
      'The time of the schedule that it was started for; null if a client started it',
    ),
    parent_request_id: z.string().nullable().describe('The run that called this agent as a tool'),
    created_by: z.string(),
    created_by_name: KeyName,
    created_at: Time,
    started_at: Time.nullable(),
    finished_at: Time.nullable(),
    erased_at: Time.nullable().describe('When its content was erased'),
  })
  .meta({ id: 'Invocation' })

type PresentInvocation = z.input<typeof Receipt> & Pick<Invocation, 'given' | 'rounds'>

/** The receipt. Fields that its shape lacks are for other channels. */
export function presentInvocation(invocation: Invocation, agent_id: string): PresentInvocation {
  const {
    id,
    input_tokens: _input,
    output_tokens: _output,
    tokens_used,
    cost_nano,
    structured: _is,
    ...rest
  } = invocation
  const cost_usd = usdOf(cost_nano)
  const usage = usageOf(invocation)
  const steps = presentSteps(invocation.steps)
  const attempts = attemptsOf(invocation)
  const model = invocation.steps.findLast((step) => step.kind === 'model')?.model ?? null
  const spent = { tokens_used, usage, cost_usd }
  const asked = invocation.given?.output && { output_wanted: invocation.given.output }
  const said = { ...outputOf(invocation), ...asked, attachments: [...(invocation.attachments ?? [])] }
  return { ...rest, ...said, request_id: id, agent_id, attempts, calls: handedCalls(rest), model, ...spent, steps }
}

function attemptsOf({ started_at, attempts }: Invocation): z.input<typeof AttemptShape>[] {
  if (started_at === null) return []
  return [{ number: 1, began_at: started_at, after: 'start' }, ...(attempts ?? [])]
}

function usageOf({ input_tokens, output_tokens, tokens_used, steps }: Invocation): z.output<typeof TokenUsage> {
  const reported = steps.flatMap((step) => ('usage' in step && step.usage ? [step.usage] : []))
  const parts = reported.reduce<Usage>(addTokens, NO_USAGE)
  return { ...parts, input_tokens, output_tokens, total_tokens: tokens_used }
}

/** The calls left to the caller. They are in the last answer. */
export function handedCalls({ rounds }: Pick<Invocation, 'rounds'>): (ShownCall & { index: number })[] {
  const calls = rounds?.at(-1)?.calls ?? []
  return calls.flatMap((call, index) => (call.handed ? [{ ...shownCall(call), index }] : []))
}

/** The value of an answer that was requested as JSON. It is parsed from the response, which an erasure removes. */
export function outputOf({ structured, response }: Pick<Invocation, 'structured' | 'response'>): { output?: unknown } {
  return structured && response ? { output: JSON.parse(response) } : {}
}

/** What clients of our API get, and the receipt for channels that report more. */
type Result = z.input<typeof InvocationResult> & { receipt(): PresentInvocation }

export function resultOf(invocation: Invocation, agent_id: string): Result {
  const { id, response, tokens_used, duration_ms } = invocation
  const receipt = () => presentInvocation(invocation, agent_id)
  const made = filesOf(invocation)
  const said = { ...(invocation.structured && outputOf(invocation)), ...(made.length > 0 && { files: made }) }
  return { response: response ?? '', ...said, request_id: id, tokens_used, duration_ms: duration_ms ?? 0, receipt }
}

function filesOf({ steps }: Pick<Invocation, 'steps'>): z.output<typeof NamedFile>[] {
  const made = []
  for (const step of steps) if (step.kind === 'tool' && 'files' in step && step.files) made.push(...step.files)
  return made
}

/** Throws the error of an invocation that didn't complete. */
export function getResult(ended: Invocation, agent_id: string): Result {
  if (ended.status !== 'completed') throw failureOf(ended)
  return resultOf(ended, agent_id)
}

/** The error of an invocation that didn't complete, from its receipt. */
export function failureOf({ id, error, steps }: Invocation): RunFailure {
  const { code, message, retry_after, details } = error ?? { ...FAILED, retry_after: undefined, details: undefined }
  const wait = code === 'unavailable' ? (retry_after ?? 1) : retry_after
  const isPassing = wait !== undefined && wait <= SOON_SECONDS
  const hasActed = steps.some(({ kind }) => kind === 'tool')
  const headers = isPassing && !hasActed ? {} : NOT_AGAIN
  return new RunFailure(id, code, message, { retry_after: wait, details, headers })
}

/** Most clients are willing to wait this long before they retry. */
const SOON_SECONDS = 60

/**
 * A retry would call the tools again, or would be paid for again and most likely end the same way. The SDK and the
 * clients of OpenAI and Anthropic retry unless the reply tells them not to.
 */
const NOT_AGAIN = { 'X-Should-Retry': 'false' }

const FAILED = { code: 'server_error' as const, message: 'The agent failed.' }
