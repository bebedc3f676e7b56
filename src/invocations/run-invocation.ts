import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import type { NewEvent } from '../events.ts'
import { redact } from '../lib/text/redact.ts'
import { cutToBytes } from '../lib/text/text.ts'
import { withValue } from '../lib/with-value.ts'
import { logWrites, ownLogWrite } from '../logs/store.ts'
import * as memory from '../memory/store.ts'
import { metricWrites } from '../metrics/store.ts'
import type { Parts } from '../operation/parts.ts'
import type { Remembered } from '../operation/recall.ts'
import type { LogEntry } from '../runtime/outcome.ts'
import type { RunOutcome } from '../runtime/run-outcome.ts'
import { type RecalledNames, type RecallStep, type Step, StepNotKept } from '../runtime/steps.ts'
import { eventsOf, milestonesOf, tellingOf } from '../runtime/told-steps.ts'
import type { JournalEntry } from '../storage/journal/entry.ts'
import type { Write } from '../storage/journal/rows.ts'
import type { Approval } from './approvals/approval.ts'
import { approvalWrite } from './approvals/approval-store.ts'
import { approvalsOf, toldApproval, type WaitingOutcome } from './approvals/ask-people.ts'
import { resolveGiven } from './given/resolve-given.ts'
import { CANCELLED, type EndedInvocation, type Invocation, STOPPED, type WaitingInvocation } from './invocation.ts'
import { type ReceiptStep, receiptSteps } from './steps/receipt-steps.ts'
import { type Started, StoredRun } from './steps/stored-run.ts'
import { beginRunSpan, endRunSpan } from './steps/trace-run.ts'

const MAX_EVENT_RESPONSE = 32 * 1024 // bytes

/** A run that has ended or waits; this node has finished its work on it. */
export type Done = {
  invocation: EndedInvocation | WaitingInvocation
  entry: JournalEntry
  /** What people must decide before it goes on. */
  asked?: readonly Approval[]
}

/**
 * Runs the invocation. What it leaves is returned and not written, because it must commit together with the reply.
 * Rejects with StepNotKept if the run leaves nothing here and goes on elsewhere.
 */
export async function runInvocation(started: Started, parts: Parts): Promise<Done> {
  const { agent, definition, run, streaming, kept } = started
  const { id: request_id, message, context, given, attempt, background, keyed, created_by } = started.invocation
  const began_at = parts.now()
  const milestones = milestonesOf(kept.map(tellingOf))
  run.begin({ attempt, milestones, user_id: context.user_id, created_by })
  const stored = new StoredRun(started, parts)
  const span = beginRunSpan(started, parts)
  const onWait = () => stored.storeSoon()
  const keep = (steps: readonly Step[]) => stored.keep(steps)

  let outcome: RunOutcome
  let release: (() => void) | undefined
  try {
    const stateless = isStateless(context)
    if (!stateless) onWait()
    const { history, recalled, summary, names } = stateless ? NOTHING : await remember(started, parts)
    const recall = names && recallStep(names, { attempt, started_at: began_at, finished_at: parts.now() })
    const source = { db: parts.storage.db, texts: parts.earlier, isPatient: background }
    const taken = given ? await resolveGiven(given, agent.seq, source) : NOTHING_GIVEN
    release = taken?.release
    const resolved = taken?.value
    if (streaming) for (const event of eventsOf(kept)) run.record(event)
    outcome = !taken
      ? NO_ROOM
      : await parts.runtime.run({
          request_id,
          agent_id: agent.id,
          attempt,
          agent: definition,
          message,
          context,
          history: resolved?.history ?? history,
          summary,
          recalled,
          given: resolved,
          recall,
          cancellation: run.cancellation,
          emit: streaming ? (event) => run.record(event) : undefined,
          onWait,
          span,
          keeper: background || keyed ? { kept, mayWait: background, keep } : undefined,
        })
  } finally {
    release?.()
    const settling = stored.settle()
    if (settling) await settling
  }

  countTokens(outcome, kept, parts)
  const now = parts.now()
  const worked_ms = (started.invocation.duration_ms ?? 0) + Math.max(0, now - began_at)
  if (outcome.status === 'waiting') {
    if (span) endRunSpan(span, message, outcome, undefined)
    const invocation = {
      ...started.invocation,
      status: 'waiting' as const,
      background: true,
      duration_ms: worked_ms,
    }
    const asked = approvalsOf(invocation, outcome, parts)
    const writes = await waitingEffects(invocation, agent, { ...outcome, asked }, parts)
    return { invocation, asked, entry: stored.waiting(invocation, outcome.steps, outcome.until, writes) }
  }
  if (outcome.status === 'cancelled' && run.abandoned) {
    if (span) endRunSpan(span, message, outcome, undefined)
    throw new StepNotKept('the lease of the run was lost')
  }
  // If nobody cancelled the run, the stop of the service did.
  const error = outcome.status === 'cancelled' && !run.cancellation.cancelled ? STOPPED : errorOf(outcome)
  if (span) endRunSpan(span, message, outcome, error?.code)
  const invocation = endedBy(started.invocation, outcome, { error, duration_ms: worked_ms, finished_at: now })
  const left = effects(invocation, agent, definition, outcome.logs, parts)
  const writes = left instanceof Promise ? await left : left
  return { invocation, entry: stored.ending(invocation, writes) }
}

/** Tokens are spent even if the run goes on elsewhere. Those of earlier attempts are counted already. */
function countTokens({ usage }: RunOutcome, kept: readonly Step[], { telemetry }: Parts): void {
  let { input_tokens, output_tokens } = usage
  for (const step of kept) {
    if (step.kind !== 'model') continue
    input_tokens -= step.usage.input_tokens
    output_tokens -= step.usage.output_tokens
  }
  telemetry.tokens.add(input_tokens, 'in')
  telemetry.tokens.add(output_tokens, 'out')
}

const NOTHING_GIVEN = { value: undefined, release: undefined }

/** It did not begin. Whoever asked may try again. */
const NO_ROOM: RunOutcome = {
  status: 'failed',
  reason: 'no room',
  message: 'Too many long conversations are under way, try again shortly',
  response: '',
  usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  steps: [],
  logs: [],
}

const NOTHING: Remembered = { history: [], recalled: [] }

function isStateless({ user_id, session_id }: Invocation['context']): boolean {
  return user_id === undefined && session_id === undefined
}

/** The session so far, and what is recalled for this user. */
function remember({ agent, definition, invocation }: Started, { recall }: Parts): Promise<Remembered> {
  const { user_id = null, session_id = null } = invocation.context
  return recall.remember({ agent_seq: agent.seq, user_id, session_id }, invocation.message, definition.memory)
}

function recallStep(
  names: RecalledNames,
  times: Pick<RecallStep, 'attempt' | 'started_at' | 'finished_at'>,
): RecallStep {
  return { kind: 'recall', ...times, logs: [], ...names }
}

type EndOutcome = Exclude<RunOutcome, { status: 'waiting' }>

function endedBy(
  invocation: Invocation,
  outcome: EndOutcome,
  end: Pick<EndedInvocation, 'error' | 'duration_ms' | 'finished_at'>,
): EndedInvocation {
  const { status, usage, response, steps } = outcome
  const rounds = (status === 'completed' && outcome.rounds) || null
  return {
    ...invocation,
    ...end,
    status,
    // A run that did not complete keeps what it has said, if anything.
    response: status === 'completed' ? response : response || null,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    tokens_used: usage.total_tokens,
    rounds,
    steps: rounds || !isOneAnswer(outcome) ? receiptSteps(steps) : NO_STEPS,
  }
}

/** The receipt's own fields tell everything about a single answer that is whole. */
function isOneAnswer({ status, steps }: EndOutcome): boolean {
  const [step] = steps
  if (status !== 'completed' || steps.length > 1 || step?.kind !== 'model') return false
  return step.answer.finish === 'stop' && !step.left_out
}

const NO_STEPS: ReceiptStep[] = []

function errorOf(outcome: EndOutcome): Invocation['error'] {
  if (outcome.status === 'completed') return null
  if (outcome.status === 'cancelled') return CANCELLED
  const { reason, message } = outcome
  if (reason === 'no room') return { code: 'unavailable', message }
  return { code: reason === 'timeout' ? 'timeout' : 'server_error', message }
}

/** Everything that an ended invocation leaves besides its own row: logs, metrics, memory and the event. */
export function effects(
  invocation: EndedInvocation,
  agent: Agent,
  { memory: policy }: Definition,
  logs: LogEntry[],
  { events, newId }: Parts,
): Write[] | Promise<Write[]> {
  const { id: request_id, status, context, finished_at: time, duration_ms } = invocation
  const { user_id = null, session_id = null } = context
  const source = { agent_seq: agent.seq, request_id }
  const writes = logWrites(source, logs)
  writes.push(
    ownLogWrite(source, endEntry(invocation)),
    ...metricWrites({ agent_seq: agent.seq, time, duration_ms, outcome: status }),
  )
  // Without a user and a session there is nothing to remember it for. An answer that ended with calls for its caller is
  // remembered when it goes on.
  if (status === 'completed' && policy.remember && !isStateless(context) && !invocation.rounds) {
    const { message, response } = invocation
    const exchange = { agent_seq: agent.seq, user_id, session_id, request_id, message, response: response ?? '' }
    writes.push(...memory.turnWrites({ ...exchange, created_at: time, newId }))
  }
  const found = events.writes(endEvent(invocation, agent.id))
  return withValue(found, (more) => (more.length === 0 ? writes : [...writes, ...more]))
}

/**
 * What a run leaves that waits for people: the approvals, what its attempt has logged since its last step, and the
 * event. A run that waits for anything else leaves nothing.
 */
async function waitingEffects(
  invocation: WaitingInvocation,
  agent: Agent,
  { asked, steps, logs, usage }: WaitingOutcome & { asked: readonly Approval[] },
  { events, now }: Parts,
): Promise<Write[]> {
  if (asked.length === 0) return []
  const logged = steps.reduce((sum, step) => sum + step.logs.length, 0)
  const source = { agent_seq: agent.seq, request_id: invocation.id }
  const data = () => ({
    ...eventData({ ...invocation, tokens_used: usage.total_tokens }),
    approvals: asked.map(toldApproval),
  })
  const told = { type: 'agent.waiting' as const, agent_id: agent.id, request_id: invocation.id }
  const event = await events.writes({ ...told, data, time: now() })
  return [...asked.map(approvalWrite), ...logWrites(source, logs.slice(logged)), ...event]
}

const LEVEL_OF = { completed: 'info', failed: 'error', cancelled: 'warn' } as const

function endEntry(invocation: EndedInvocation): LogEntry {
  const { status, door, error, duration_ms, tokens_used, version, environment, finished_at } = invocation
  const message = error && status === 'failed' ? `Invocation failed: ${redact(error.message)}` : `Invocation ${status}`
  const labels = { environment: redact(environment), version: version && redact(version) }
  const metadata = { duration_ms, tokens_used, ...labels, ...(door !== 'api' && { door }) }
  return { timestamp: finished_at, level: LEVEL_OF[status], message, metadata }
}

/** What webhooks hear of the end. */
export function endEvent(invocation: EndedInvocation, agent_id: string): NewEvent {
  const { id: request_id, status, finished_at: time } = invocation
  return { type: `agent.${status}`, agent_id, request_id, data: () => eventData(invocation), time }
}

function eventData({
  id,
  status,
  environment,
  version,
  tokens_used,
  duration_ms,
  response,
  error,
  context,
  schedule_id,
}: Invocation) {
  const { user_id, session_id } = context
  return {
    request_id: id,
    status,
    environment,
    version,
    tokens_used,
    duration_ms,
    ...(status === 'completed' && { response: cutToBytes(response ?? '', MAX_EVENT_RESPONSE) }),
    ...(error && { error }),
    ...(schedule_id !== null && { schedule_id }),
    context: { user_id: user_id ?? null, session_id: session_id ?? null },
  }
}
