import { findSnapshot, type SnapshotParts } from '../agents/agent-snapshot.ts'
import { readNamed } from '../memory/search/read-named.ts'
import type { Parts } from '../operation/parts.ts'
import type { RecallResult } from '../operation/recall.ts'
import { keyNamed, type RunMeter, type Spender } from '../operation/spending.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import type { Given } from '../runtime/given.ts'
import type { Meter } from '../runtime/models/meter.ts'
import { leftBy } from '../runtime/run-in-progress.ts'
import type { RunInput } from '../runtime/run-input.ts'
import type { RunOutcome } from '../runtime/run-outcome.ts'
import { type Step, StepNotKept } from '../runtime/steps.ts'
import { eventsOf, milestonesOf } from '../runtime/told-steps.ts'
import { approvalsOf, type WaitingOutcome } from './approvals/ask-people.ts'
import { ChildRuns } from './children/child-runs.ts'
import { effects, waitingEffects } from './effects/effects.ts'
import { resolveGiven } from './given/resolve-given.ts'
import { CANCELLED, type EndedInvocation, type Invocation, isStateless, STOPPED } from './invocation.ts'
import { CHILDREN } from './queue/queue-store.ts'
import type { RunEnd, WorkEnd } from './runs.ts'
import { receiptSteps } from './steps/receipt-steps.ts'
import { logsOf } from './steps/step-store.ts'
import { type StartedRun, StoredRun } from './steps/stored-run.ts'
import { beginRunSpan, endRunSpan } from './steps/trace-run.ts'

export type RunParts = Pick<
  Parts,
  | 'earlier'
  | 'events'
  | 'journal'
  | 'limiter'
  | 'newId'
  | 'now'
  | 'pauses'
  | 'recall'
  | 'runtime'
  | 'spending'
  | 'telemetry'
  | 'tracer'
> &
  SnapshotParts

/**
 * Runs the invocation. Its effects are returned, not written, because they must commit together with the reply. When
 * this resolves, the run has ended, or it is stored.
 */
export async function runInvocation(started: StartedRun, parts: RunParts): Promise<RunEnd> {
  const meter = parts.spending.meter(runSpender(started), started.project)
  const stored = new StoredRun(started, meter, parts)
  const storeSpending = () => stored.storeSpending()
  const end = await runStored(started, stored, meter, parts).catch((cause) => ({ kind: 'moved' as const, cause }))
  return { ...end, storeSpending }
}

async function runStored(started: StartedRun, stored: StoredRun, meter: RunMeter, parts: RunParts): Promise<WorkEnd> {
  const { agent, definition, run, streaming, kept, stop } = started
  const children = isInTree(started) ? new ChildRuns(started, parts) : undefined
  const {
    id: request_id,
    message,
    context,
    given,
    attachments,
    attempt,
    background,
    keyed,
    created_by,
    version,
    deployment_id,
  } = started.invocation
  const began_at = parts.now()
  const began = { attempt, milestones: kept.length > 0 ? milestonesOf(kept) : [], user_id: context.user_id, created_by }
  run.stored.then(() => run.begin(began)).catch(() => {})
  const span = parts.tracer && beginRunSpan(started, parts.tracer)
  const keep = (steps: readonly Step[]) => stored.keep(steps)
  const waitsForBudgets = started.invocation.on_budget === 'wait'
  // A run that a client waits for has earlier attempts only if it has waited for runs that it called.
  const isKept = background || keyed || attempt > 1

  let outcome: RunOutcome
  let taken: ResolvedGiven | undefined
  try {
    const tree = await children?.tree()
    const { cancellation } = run
    if (given) {
      const source = { db: parts.storage.db, texts: parts.earlier, isPatient: background, signal: cancellation.signal }
      taken = await resolveGiven(given, agent, source)
    } else taken = NOTHING_GIVEN
    if (streaming) for (const event of eventsOf(kept)) run.record(event)
    const history = taken?.value?.history
    const recall = async (signal: AbortSignal) => {
      const { names, ...found } = await remember(started, meter, parts, signal)
      const times = { attempt, started_at: began_at, finished_at: parts.now() }
      const step = names && { kind: 'recall' as const, ...times, logs: [], ...names }
      return { ...found, history: history ?? found.history, recall: step }
    }
    // A run that is cancelled while it waits for memory ends like any cancelled run.
    const hasNoRoom = !taken && !cancellation.cancelled
    outcome = hasNoRoom
      ? noRoom(kept)
      : await parts.runtime.run(
          {
            request_id,
            project_id: agent.project_id,
            providers: started.project?.providers,
            agent_id: agent.id,
            created_by,
            served: { version, deployment_id },
            attempt,
            meter,
            stored: run.stored,
            agent: definition,
            message,
            attachments: attachments ?? undefined,
            context,
            history: history ?? [],
            recalled: [],
            given: taken?.value,
            tree,
            cancellation,
            emit: streaming ? (event) => run.record(event) : undefined,
            span,
            keeper: isKept ? { kept, mayWait: background, waitsForBudgets, keep } : undefined,
          },
          isStateless(context) ? undefined : recall,
        )
  } finally {
    taken?.release?.()
  }

  const finished_at = parts.now()
  const duration_ms = (started.invocation.duration_ms ?? 0) + Math.max(0, finished_at - began_at)
  const isLost = outcome.status === 'cancelled' && run.abandoned
  const error = isLost || outcome.status === 'completed' ? null : errorOf(outcome, run, finished_at)
  if (span) endRunSpan(span, message, outcome, error?.code)
  if (isLost) return { kind: 'moved', cause: new StepNotKept("lost the run's lease") }
  const isStopped = outcome.status === 'cancelled' && (stop ? stop.aborted : keyed && error === STOPPED)
  // Only the end of a run may be written together with its row.
  if (isStopped || outcome.status === 'waiting') await run.stored
  if (isStopped) {
    await stored.interrupt(outcome, { attempt, logs: [], now: finished_at })
    return { kind: 'stopped' }
  }
  if (outcome.status === 'waiting') {
    const traceparent = started.invocation.tree?.traceparent ?? span?.traceparent
    return leaveWaiting(started, outcome, { children, duration_ms, stored, traceparent }, parts)
  }
  const invocation = endedBy(started.invocation, outcome, { error, duration_ms, finished_at })
  const writes = await effects(invocation, agent, definition, outcome.logs, parts)
  return { kind: 'ended', invocation, entry: stored.ending(invocation, writes) }
}

async function leaveWaiting(
  started: StartedRun,
  outcome: WaitingOutcome,
  { children, duration_ms, stored, traceparent }: RunExit,
  parts: Pick<Parts, 'events' | 'newId' | 'now'>,
): Promise<WorkEnd> {
  const { agent, run } = started
  const before = started.invocation
  const waitsForRuns = outcome.waits_for === CHILDREN
  const tree = { depth: 0, memory_of: agent.id, ...before.tree, traceparent }
  const invocation = {
    ...before,
    status: 'waiting' as const,
    // A client keeps waiting only while called runs work on the answer. For any other wait, the run becomes a
    // background run.
    background: before.background || !waitsForRuns,
    duration_ms,
    tree: waitsForRuns ? tree : before.tree,
    deadline_at: children?.deadlineOf(outcome) ?? null,
  }
  const asked = approvalsOf(invocation, outcome, parts)
  const effected = await waitingEffects(invocation, agent, { ...outcome, asked }, parts)
  run.begun_lanes = children?.lanes() ?? []
  run.begun_sessions = children?.sessions() ?? []
  const entry = stored.waiting(invocation, outcome, [...(children?.writes() ?? []), ...effected])
  return { kind: 'waiting', invocation, asked, waitsForRuns, entry }
}

type RunExit = {
  children: ChildRuns | undefined
  duration_ms: number
  stored: StoredRun
  traceparent: string | undefined
}

/** Whether the run belongs to a tree of runs, or may become the root of one. */
function isInTree({ invocation, definition }: StartedRun): boolean {
  if (invocation.parent_request_id !== null || invocation.tree !== null) return true
  return definition.tools.some(({ type }) => type === 'agent')
}

function runSpender({ agent, invocation }: StartedRun): Spender {
  const { id: request_id, version, environment, created_by, person_id, context, door } = invocation
  return {
    project_id: agent.project_id,
    agent_seq: agent.seq,
    agent_id: agent.id,
    request_id,
    purpose: 'run',
    version,
    environment,
    key_id: keyNamed(created_by),
    person_id,
    user_id: context.user_id ?? null,
    door,
  }
}

type ResolvedGiven = { value: Given | undefined; release: (() => void) | undefined }

const NOTHING_GIVEN: ResolvedGiven = { value: undefined, release: undefined }

/** The service has no memory free for the conversation, and the client can retry. Earlier attempts' work is kept. */
function noRoom(kept: readonly Step[]): RunOutcome {
  const message = 'Too many long conversations are in progress. Try again shortly.'
  return { status: 'failed', reason: 'no room', message, ...leftBy(kept), logs: logsOf(kept) }
}

type ForRun = Pick<RunInput, 'history' | 'recalled' | 'summary'> & Pick<RecallResult, 'names'>

const NOTHING: ForRun = { history: [], recalled: [] }

/** The session so far, and the memories recalled for this user. Later attempts reuse what the first one found. */
async function remember(
  { agent, definition, kept, invocation: { context, message, tree } }: StartedRun,
  meter: Meter,
  parts: SnapshotParts & Pick<Parts, 'recall'>,
  signal: AbortSignal,
): Promise<ForRun> {
  const memory_of = tree ? tree.memory_of : agent.id
  if (memory_of === null) return NOTHING
  const owner = memory_of === agent.id ? agent : (await findSnapshot(memory_of, parts))?.agent
  if (!owner) return NOTHING
  const { user_id = null, session_id = null } = context
  const conversation = { agent_seq: owner.seq, user_id, session_id }
  const stored = kept.find((step) => step.kind === 'recall')
  if (stored) {
    const { history, recalled, summary } = await readNamed(parts.storage.db, conversation, stored)
    return { history, recalled, summary: summary?.content }
  }
  // The first attempt found nothing. What was said since came after the message.
  if (kept.length > 0) return NOTHING
  return parts.recall.remember(conversation, message, definition.memory, meter, signal)
}

type EndOutcome = Exclude<RunOutcome, { status: 'waiting' }>

function endedBy(
  invocation: Invocation,
  outcome: EndOutcome,
  end: Pick<EndedInvocation, 'error' | 'duration_ms' | 'finished_at'>,
): EndedInvocation {
  const { status, usage, cost_nano, response, output, attachments, steps } = outcome
  const rounds = (status === 'completed' && outcome.rounds) || null
  return {
    ...invocation,
    ...end,
    status,
    // A run that didn't complete keeps the text that it has produced, if any.
    response: status === 'completed' ? response : response || null,
    structured: output !== undefined,
    attachments: attachments ?? invocation.attachments,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    tokens_used: usage.total_tokens,
    cost_nano,
    rounds,
    steps: receiptSteps(steps),
  }
}

function errorOf(
  outcome: Exclude<RunOutcome, { status: 'completed' }>,
  { cancellation }: LiveRun,
  now: number,
): Invocation['error'] {
  if (outcome.status === 'waiting') return null
  // The run was ended by a cancellation, a disconnected client or a pause of its agent. Otherwise, the service stops.
  if (outcome.status === 'cancelled') return cancellation.cancelled ? CANCELLED : STOPPED
  const { reason, message } = outcome
  if (reason === 'over budget') {
    const { until, budget } = outcome
    const retry_after = until === undefined ? undefined : Math.max(1, Math.ceil((until - now) / 1000))
    const details = Object.entries(budget).map(([field, error]) => ({ field, error }))
    return { code: 'budget_exceeded', message, ...(retry_after !== undefined && { retry_after }), details }
  }
  if (reason === 'unfit') {
    const details = outcome.problems.map(({ at, problem }) => ({ field: at, error: problem }))
    return { code: 'output_invalid', message, details }
  }
  if (reason === 'no room') return { code: 'unavailable', message }
  if (reason === 'busy') {
    return { code: 'unavailable', message, retry_after: Math.max(1, Math.ceil((outcome.after_ms ?? 0) / 1000)) }
  }
  return { code: reason === 'timeout' ? 'timeout' : 'server_error', message }
}
