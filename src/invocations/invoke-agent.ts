import { type Agent, AgentParams } from '../agents/agent.ts'
import { findEntered, requireRunning, type ServedAgent } from '../agents/agent-snapshot.ts'
import { checkOutputSchema } from '../agents/check-definition.ts'
import * as agents from '../agents/store.ts'
import { servedNow, serving } from '../deployments/serving.ts'
import { ApiError, conflict, invalid, notFound, StillRunning, sessionBusy } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
import type { AcceptedReply } from '../operation/reply-channel.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { requireRoom } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import { notShown } from '../runtime/attachments/attachment.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import type { Position } from '../runtime/following/transcript.ts'
import type { Given } from '../runtime/given.ts'
import { StepNotKept } from '../runtime/steps.ts'
import type { JournalEntry } from '../storage/journal/entry.ts'
import { commitPatiently } from '../storage/journal/journal.ts'
import * as callbacks from '../webhooks/callback-store.ts'
import { type KeepNeeds, keepAttachments, removeAttachments } from './attachments/keep-attachments.ts'
import { type IncomingFiles, receiveAttachments } from './attachments/receive-attachments.ts'
import { callbackOf } from './callbacks/callback.ts'
import type { CancelParts } from './cancel-run.ts'
import {
  type AwaitedBy,
  type AwaitedTurn,
  accepted,
  answerEarlier,
  type Earlier,
  followAwaited,
  followEarlier,
  followInLine,
  pauseOf,
} from './following/follow-awaited.ts'
import type { FollowNeeds } from './following/follow-invocation.ts'
import { replayEvents, startEvent, waitingEvent } from './following/stream-events.ts'
import { requireTools, takeGiven } from './given/take-given.ts'
import {
  type EndedInvocation,
  type Invocation,
  InvokeBody,
  isFinal,
  newInvocation,
  STOPPED,
  type WaitingInvocation,
} from './invocation.ts'
import { failureOf, InvocationResult, QueuedReply, resultOf } from './receipt.ts'
import { type RunParts, runInvocation } from './run-invocation.ts'
import { admit, enqueueRun, finish, leave, notAdmittedError, type RunEnd } from './runs.ts'
import type { StartedRun } from './steps/stored-run.ts'
import * as invocations from './store.ts'

type InvokeNeeds = CancelParts &
  EnqueueNeeds &
  FollowNeeds &
  RunParts &
  Needs<'commitReply' | 'entered' | 'log' | 'node' | 'span'>

const FOR_BACKGROUND = 'is only allowed for background runs (`Prefer: respond-async`)'
const ELSEWHERE = "This node can't continue the run. Retry with the same Idempotency-Key to get its answer."

export const invokeAgent = operation({
  id: 'invokeAgent',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invoke',
  summary: 'Invoke an agent',
  description:
    'Sends a message to the agent and returns its answer once everything is stored. With `Accept: text/event-stream`, the answer is streamed. With `Prefer: respond-async`, the reply is 202 and the run continues in the background. If the run has to wait for a person, the reply is also 202. With an `Idempotency-Key`, the run continues even if the client disconnects, and a retry gets its result.',
  access: { permission: 'invoke', userTokens: true },
  mfa: { policy: 'invoke', fields: { callback: 'webhooks' } },
  // A callback is a webhook of one run, and webhooks are audited.
  audit: { target: 'agent_id', when: ({ body }) => body.callback !== undefined },
  idempotent: true,
  transaction: false,
  input: {
    params: AgentParams,
    body: InvokeBody,
    check: ({ body }, parts, actor) => (body.output ? checkOutputSchema(body, parts, actor) : undefined),
    receive: (input, actor, parts) => (bringsFiles(input) ? receiveAttachments(input, actor, parts) : undefined),
  },
  answer: {
    data: InvocationResult,
    accepted: QueuedReply,
    streams: { replay: replayEvents },
    errors: ['agent_paused', 'budget_exceeded', 'conflict', 'output_invalid', 'session_busy', 'timeout'],
  },

  async run({ params, body }, context: InvokeNeeds) {
    const { mode } = context
    if (body.callback && mode !== 'background') throw invalid({ field: 'callback', error: FOR_BACKGROUND })
    if (body.on_budget === 'wait' && mode !== 'background') {
      throw invalid({ field: 'on_budget', error: `\`wait\` ${FOR_BACKGROUND}` })
    }
    if (body.priority && mode !== 'background') throw invalid({ field: 'priority', error: FOR_BACKGROUND })
    const earlier = context.repeatable?.earlier && (await findEarlier(params.agent_id, context))
    if (earlier) return mode === 'background' ? answerEarlier(earlier, context) : followEarlier(earlier, context)
    if (mode === 'background') return enqueue(params.agent_id, body, context)
    return begin(params.agent_id, body, context)
  },
})

/** Runs the first attempt and replies, unless the run is refused. */
async function begin(agent_id: string, body: InvokeBody, context: InvokeNeeds) {
  const { emit, live, request_id } = context
  // From here on, a pause of the agent finds the run and stops it. Earlier pauses are checked below.
  const run = live.start(request_id, agent_id)
  context.onHangUp?.(() => run.cancel())
  let unfollow: (() => void) | undefined
  try {
    const started = await admitted(run, agent_id, body, context)
    if ('queued' in started) return await followInLine(started, context)
    const follow = (tell: NonNullable<typeof emit>) => {
      tell(startEvent(request_id))
      unfollow = run.follow({ characters: 0, tools: 0 }, tell)
    }
    if (emit) run.stored.then(() => follow(emit)).catch(() => {})
    const end = await runInvocation(started, context)
    return await answerEnd(end, started, context)
  } finally {
    unfollow?.()
  }
}

/** Stores the run, or throws an error that says why it can't start. */
async function admitted(
  run: LiveRun,
  agent_id: string,
  body: InvokeBody,
  context: InvokeNeeds,
): Promise<StartedRun | AwaitedTurn> {
  try {
    const snapshot = await findEntered(agent_id, context)
    if (!snapshot) throw notFound('Agent', agent_id)
    const { agent, project } = snapshot
    const { countRun } = context
    const user_id = requireUser(context.actor, body.context.user_id)
    const sender = { user_id, session_id: body.context.session_id, request_id: context.request_id }
    const served = await serving(snapshot, body.environment, sender, context)
    const { definition } = served
    requireRunning(agent, project.pause)
    const invocation = await newRun(body, user_id, agent, served, context)
    const refusal = await admit(run, { invocation, agent, definition, project, countRun }, context)
    if (typeof refusal === 'string') throw notAdmittedError(refusal, agent, definition)
    if (refusal) {
      leave(run, context)
      return { ...refusal, agent, definition }
    }
    const { emit, node, span } = context
    return { invocation, agent, project, definition, run, owner: node, streaming: emit !== undefined, span, ...FIRST }
  } catch (error) {
    leave(run, context)
    // An ApiError means that nothing was stored. Other errors may come after the insert.
    if (error instanceof ApiError) await removeAttachments(context)
    throw error
  }
}

/** The first attempt of a run. Only the run's row is stored so far. */
const FIRST: Pick<StartedRun, 'kept' | 'nextPosition'> = { kept: [], nextPosition: 0 }

/** Commits how the run ended, and replies to the client. */
async function answerEnd(end: RunEnd, started: StartedRun, context: InvokeNeeds) {
  const { agent, run } = started
  if (end.kind === 'stopped' || end.kind === 'moved') {
    await finish(end, started, async () => undefined, context)
    // If the run couldn't be stored, no other node can continue it.
    await run.stored
    if (end.kind === 'stopped') throw new StillRunning(STOPPED.message)
    return goOnElsewhere(started, end.cause, context)
  }
  const { invocation } = end
  if (end.kind === 'waiting' && end.waitsForRuns) {
    const write = async (entry: JournalEntry) => (await commitPatiently(entry, run, context)) || undefined
    if (!(await finish(end, started, write, context))) return goOnElsewhere(started, undefined, context)
    return followAwaited({ agent, invocation }, context, toldBy(run, invocation))
  }
  let answer: unknown
  let waits: AwaitedBy | undefined
  const write = async (entry: JournalEntry) => {
    waits = end.kind === 'waiting' ? { approvals: end.asked, ...(await pauseOf(agent, end.asked, context)) } : undefined
    answer = answerOf(invocation, agent, waits)
    return context.commitReply(entry, answer, run)
  }
  const committed = await finish(end, started, write, context)
  if (!committed) return goOnElsewhere(started, undefined, context)
  if (waits) {
    const reply = { request_id: invocation.id, status: 'waiting' as const, ...waits, approvals: [...waits.approvals] }
    context.emit?.(waitingEvent(toldBy(run, invocation), reply))
  }
  if (answer instanceof ApiError) throw answer
  return committed
}

function toldBy({ told }: LiveRun, { attempt }: Invocation): Position {
  return { attempt, ...told }
}

/**
 * Another node continues the stored run if the request can be repeated. Otherwise, that node marks the run as failed. A
 * client that reads a stream learns here how the run ends. Other clients can repeat the request. If the run has ended or
 * waits, the database's answer to that commit was lost, or another node was faster: the client gets the run's state.
 */
async function goOnElsewhere({ agent, invocation, run }: StartedRun, cause: unknown, context: InvokeNeeds) {
  const { db, emit, repeatable } = context
  const isLost = cause === undefined || cause instanceof StepNotKept
  if (emit && isLost) return followEarlier({ agent, invocation }, context, toldBy(run, invocation))
  if (repeatable) throw new StillRunning(ELSEWHERE, cause)
  if (!isLost) throw cause
  // While the database is unavailable, another node may have the run, so the request must not look repeatable.
  const found = await invocations.find(db, agent.seq, invocation.id).catch(() => undefined)
  if (found && (isFinal(found) || found.status === 'waiting'))
    return answerEarlier({ agent, invocation: found }, context)
  throw conflict('Another node has taken over the invocation.')
}

/**
 * The run that the same request started before its process died, or before the run had to wait. It continues by itself.
 * Undefined if nothing was stored; then the request starts over.
 */
async function findEarlier(
  agent_id: string,
  { db, mode, repeatable }: Needs<'db' | 'mode' | 'repeatable'>,
): Promise<Earlier | undefined> {
  if (repeatable?.earlier === undefined) return undefined
  const { earlier: id } = repeatable
  const agent = await agents.find(db, agent_id)
  const invocation = agent && (await invocations.find(db, agent.seq, id))
  // A failed run frees its key, but only after a client that waits for the answer has received the failure.
  const hasFailed = invocation && isFinal(invocation) && invocation.status !== 'completed'
  const isFree = mode === 'background' && hasFailed && repeatable.beginAnew
  if (agent && invocation && !isFree) return { agent, invocation }
  if (!repeatable.beginAnew) throw notFound('Invocation', id)
  if (await repeatable.beginAnew()) return undefined
  throw new StillRunning('Another request with this Idempotency-Key has started. Try again shortly.')
}

function answerOf(done: EndedInvocation | WaitingInvocation, agent: Agent, waits: AwaitedBy | undefined): unknown {
  if (done.status === 'waiting') return accepted(done, agent, waits)
  return done.status === 'completed' ? resultOf(done, agent.id) : failureOf(done)
}

type NewRunNeeds = KeepNeeds & Needs<'door' | 'given' | 'repeatable'>

/** The invocation that the client requested. A token for one user binds the user. */
async function newRun(
  asked: InvokeBody,
  user_id: string | undefined,
  agent: Agent,
  served: ServedAgent,
  context: NewRunNeeds,
): Promise<Invocation> {
  const bound = user_id === undefined ? asked : { ...asked, context: { ...asked.context, user_id } }
  const begun = newInvocation(bound, agent, served, context)
  const { given } = context
  if (given) requireTools(given, served.definition)
  const whose = { agent_id: agent.id, user_id: user_id ?? null }
  const kept = bringsFiles({ body: asked, given })
    ? await keepAttachments({ attachments: asked.attachments, given }, whose, context)
    : { attachments: null, given: given as Given | undefined }
  const invocation = kept.attachments ? { ...begun, attachments: kept.attachments.map(notShown) } : begun
  if (!kept.given) return invocation
  return { ...invocation, ...(await takeGiven({ ...kept.given, ...invocation.given }, invocation, context)) }
}

/** Whether the message, or an earlier message that the caller sends, can have files. */
function bringsFiles({ body, given }: IncomingFiles): boolean {
  return body.attachments !== undefined || given?.history !== undefined
}

type EnqueueNeeds = NewRunNeeds & Needs<'config' | 'countRun' | 'keyring' | 'newId' | 'pauses'>

/** Queues a background run, with its callback, in the request's transaction. */
async function enqueue(agent_id: string, body: InvokeBody, context: EnqueueNeeds): Promise<AcceptedReply> {
  const { db } = context
  const agent = await agents.get(db, agent_id)
  requireRunning(agent, await context.pauses.find(agent.project_id, db))
  requireRoom(await projects.get(db, agent.project_id))
  const user_id = requireUser(context.actor, body.context.user_id)
  const sender = { user_id, session_id: body.context.session_id, request_id: context.request_id }
  const served = await servedNow(db, agent, body.environment, sender)
  const invocation = await newRun(body, user_id, agent, served, context)
  const { definition } = served
  const { priority = 'normal' } = body
  if (!(await enqueueRun(db, { invocation, agent, definition, priority }, context.now()))) throw sessionBusy()
  await context.countRun?.(db)
  if (body.callback) {
    const run = { project_id: agent.project_id, agent_id: agent.id, request_id: invocation.id }
    await callbacks.insert(db, callbackOf(body.callback, run, context, 'callback.').callback)
  }
  return accepted(invocation, agent)
}
