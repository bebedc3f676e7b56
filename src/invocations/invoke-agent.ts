import { type Agent, AgentParams } from '../agents/agent.ts'
import { findEntered, requireRunning, type Serving } from '../agents/agent-snapshot.ts'
import { checkOutputSchema } from '../agents/check-definition.ts'
import * as agents from '../agents/store.ts'
import { servedNow, serving } from '../deployments/serving.ts'
import { ApiError, conflict, invalid, notFound, StillRunning } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
import { pausedMessage } from '../operation/pauses.ts'
import { PendingEntry } from '../operation/pending-entry.ts'
import { Accepted } from '../operation/reply-channel.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { requireRoom } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import { notShown } from '../runtime/attachments/attachment.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import type { Position } from '../runtime/following/transcript.ts'
import { StepNotKept } from '../runtime/steps.ts'
import { announce } from '../storage/database.ts'
import { commitPatiently } from '../storage/journal/commit-patiently.ts'
import { BacklogFullError } from '../storage/journal/journal.ts'
import * as callbacks from '../webhooks/callback-store.ts'
import { admit, leave, notAdmittedError } from './admit.ts'
import { waitingEvent } from './approvals/waiting-event.ts'
import { type KeepNeeds, keepAttachments, removeAttachments } from './attachments/keep-attachments.ts'
import { receiveAttachments } from './attachments/receive-attachments.ts'
import { callbackOf } from './callbacks/callback.ts'
import { type CancelParts, cancelRun } from './cancel-run.ts'
import { type AwaitedApproval, listAwaited } from './children/awaited-approvals.ts'
import { type FollowNeeds, followInvocation } from './following/follow-invocation.ts'
import { replayEvents, startEvent } from './following/stream-events.ts'
import { requireTools } from './given/require-tools.ts'
import { takeGiven } from './given/take-given.ts'
import { type Asked, type Invocation, InvokeBody, isFinal, newInvocation, STOPPED } from './invocation.ts'
import { enqueueRun } from './queue/enqueue.ts'
import { giveBack } from './queue/queue-store.ts'
import { failureOf, getResult, InvocationResult, QueuedReply, resultOf } from './receipt.ts'
import { type Done, type RunParts, runInvocation } from './run-invocation.ts'
import type { Started } from './steps/stored-run.ts'
import * as invocations from './store.ts'

type InvokeNeeds = CancelParts & EnqueueNeeds & FollowNeeds & RunParts & Needs<'entered' | 'log' | 'node' | 'span'>

export const invokeAgent = operation({
  id: 'invokeAgent',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invoke',
  summary: 'Invoke an agent',
  description:
    'Answers when the agent has answered and everything it left is on disk. `Accept: text/event-stream` streams the answer; `Prefer: respond-async` answers 202 at once and runs in the background. A run that waits for a person is answered with 202 as well, and goes on in the background. With an Idempotency-Key the run goes on when the client hangs up, and a retry gets its result.',
  permission: 'invoke',
  mfa: 'invoke',
  userTokens: true,
  idempotent: true,
  transaction: false,
  // A callback is a webhook of one run, and webhooks are audited.
  audit: { target: 'agent_id', when: ({ body }) => body.callback !== undefined },
  mfaFields: { callback: 'webhooks' },
  errors: ['agent_paused', 'budget_exceeded', 'conflict', 'output_invalid', 'timeout'],
  params: AgentParams,
  body: InvokeBody,
  check: ({ body }, parts, actor) => checkOutputSchema(body, parts, actor),
  receive: (input, actor, parts) => receiveAttachments(input, actor, parts),
  data: InvocationResult,
  accepted: QueuedReply,
  streams: { replay: replayEvents },

  async run({ params, body }, context: InvokeNeeds) {
    const { mode } = context
    if (body.callback && mode !== 'background') {
      throw invalid({ field: 'callback', error: 'is for a run in the background' })
    }
    if (body.on_budget === 'wait' && mode !== 'background') {
      throw invalid({ field: 'on_budget', error: 'only a run in the background can wait: send Prefer: respond-async' })
    }
    const earlier = context.repeatable?.earlier && (await findEarlier(params.agent_id, context))
    if (earlier) return mode === 'background' ? answerEarlier(earlier, context) : followEarlier(earlier, context)
    if (mode === 'background') return enqueue(params.agent_id, body, context)
    const begun = await begin(params.agent_id, body, context)
    return begun instanceof PendingEntry ? begun : followChildren(begun, context)
  },
})

/** Runs the first attempt. If it waits for runs that it has called, it is followed from there. */
async function begin(agent_id: string, body: Asked, context: InvokeNeeds): Promise<PendingEntry | Left> {
  const { emit, live, node, request_id } = context
  // From here on a pause of the agent finds the run and stops it. An earlier one, of whatever, is read below.
  const run = live.start(request_id, agent_id)
  context.onHangUp?.(() => run.cancel())
  const unfollow = emit && run.follow({ characters: 0, tools: 0 }, emit)
  const end = () => {
    unfollow?.()
    leave(run, context)
  }
  try {
    const snapshot = await findEntered(agent_id, context)
    if (!snapshot) throw notFound('Agent', agent_id)
    const { agent, project } = snapshot
    const served = await serving(snapshot, body.environment, context)
    const { definition } = served
    requireRunning(agent, project.pause)
    const invocation = await newRun(body, agent, served, context)
    const refusal = await admit(run, { invocation, agent, definition, project }, context)
    if (refusal) throw notAdmittedError(refusal, agent, definition)
    emit?.(startEvent(request_id))
    const begun = { invocation, agent, project, definition, run, owner: node, streaming: emit !== undefined }
    const ran = await runInvocation({ ...begun, ...FIRST, span: context.span }, context)
    const { invocation: done, entry, asked, leave: leaveUnwritten } = ran
    if (wasStopped(done)) {
      await leaveUnwritten()
      await giveToQueue(run, context)
    }
    // It may be woken and taken again, also by this node, as soon as this is on disk.
    if (done.status === 'waiting') run.abandon()
    if (ran.waitsForRuns) {
      const isWritten = await commitPatiently(entry, run.lease, context)
      if (!isWritten) {
        void leaveUnwritten()
        throw new StepNotKept(ENDED_ELSEWHERE)
      }
      const told = { attempt: done.attempt, ...run.told }
      end()
      return { agent, invocation: done, told }
    }
    const waits = asked && { approvals: asked, ...(await pauseOf(agent, asked, context)) }
    // The run ends, and gives its places back, when its entry is on disk.
    const ended = (written: boolean) => {
      if (!written) void leaveUnwritten()
      if (written && done.status !== 'waiting') {
        context.telemetry.countRun(done.status, definition.kind, agent.project_id)
      }
      if (written && waits) {
        const reply = { request_id, status: 'waiting' as const, ...waits, approvals: [...waits.approvals] }
        emit?.(waitingEvent({ attempt: done.attempt, ...run.told }, reply))
      }
      end()
    }
    return new PendingEntry(entry, answerOf(done, agent, waits), { lease: run.lease, lost: ENDED_ELSEWHERE, ended })
  } catch (error) {
    end()
    if (!run.lease && isRefusal(error)) await removeAttachments(context)
    throw notFinished(error, run, context)
  }
}

/** The run is not stored then. After a failure of the store it may be. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError || error instanceof BacklogFullError
}

/** What a client has heard of a run that waits for those that it called. */
type Left = Earlier & { told: Position }

/** Tells the client the rest, as the run goes on. A client that hangs up cancels it, as long as its answer is awaited. */
async function followChildren({ agent, invocation, told }: Left, context: InvokeNeeds & CancelParts) {
  let isAwaited = true
  context.onHangUp?.(() => {
    if (isAwaited) cancelRun(agent, invocation.id, context).catch(() => {})
  })
  try {
    return await followEarlier({ agent, invocation }, context, told)
  } finally {
    isAwaited = false
  }
}

/** The first attempt of a run: nothing of it is stored but its row. */
const FIRST: Pick<Started, 'kept' | 'nextPosition'> = { kept: [], nextPosition: 0 }

const ENDED_ELSEWHERE = 'The invocation was ended by another node'

/** Another node goes on with the stored run of a request that may be repeated, and marks any other as failed. */
function notFinished(cause: unknown, { lease }: LiveRun, { repeatable }: Needs<'repeatable'>): unknown {
  if (cause instanceof StillRunning) return cause
  const isElsewhere = cause instanceof StepNotKept
  if (repeatable && (lease || isElsewhere)) {
    return new StillRunning('The service could not go on with the run here', cause)
  }
  return isElsewhere ? conflict(ENDED_ELSEWHERE) : cause
}

/**
 * What the same request began before its process died: it goes on by itself. Undefined when nothing of it was stored:
 * then it begins anew.
 */
async function findEarlier(
  agent_id: string,
  { db, mode, repeatable }: Needs<'db' | 'mode' | 'repeatable'>,
): Promise<Earlier | undefined> {
  const id = repeatable?.earlier
  if (id === undefined) return undefined
  const agent = await agents.find(db, agent_id)
  const invocation = agent && (await invocations.find(db, agent.seq, id))
  // A run that failed frees its key. A client that waits for the answer hears of the failure first.
  const isFree = mode === 'background' && invocation && isFinal(invocation) && invocation.status !== 'completed'
  if (agent && invocation && !isFree) return { agent, invocation }
  if (await repeatable?.beginAnew()) return undefined
  throw new StillRunning('Another request with this Idempotency-Key has begun, try again shortly')
}

type Earlier = { agent: Agent; invocation: Invocation }

/** Waits for the end of the earlier run. It goes on, even if it cannot be followed here any longer. */
async function followEarlier({ agent, invocation }: Earlier, context: FollowNeeds, told?: Position) {
  const followed = followInvocation(agent, invocation.id, { told, endless: false }, context)
  const found = await followed.catch((error) => {
    throw new StillRunning(error instanceof ApiError ? error.message : 'The run goes on, try again shortly', error)
  })
  return answerEarlier({ agent, invocation: found }, context)
}

/** Answers for the earlier run as it is now. */
async function answerEarlier({ agent, invocation }: Earlier, { db, pauses }: Needs<'db' | 'pauses'>) {
  if (isFinal(invocation)) return getResult(invocation, agent.id)
  if (invocation.status === 'waiting') {
    const approvals = await listAwaited(db, invocation.id)
    return accepted(invocation, agent, { approvals, ...(await pauseOf(agent, approvals, { pauses })) })
  }
  return accepted({ ...invocation, status: 'queued' }, agent)
}

/** Ended by the stop of the service, not cancelled by a client. */
function wasStopped({ keyed, status, error }: Invocation): boolean {
  return keyed && status === 'cancelled' && error === STOPPED
}

/** Another node, or the next start, goes on with the run. */
async function giveToQueue({ lease }: LiveRun, { storage }: Needs<'storage'>): Promise<never> {
  if (lease) {
    await storage.transaction(async (db) => {
      await giveBack(db, lease)
      await announce(db, 'queue')
    })
  }
  throw new StillRunning(STOPPED.message)
}

function answerOf(done: Done['invocation'], agent: Agent, waits: Waits | undefined): unknown {
  if (done.status === 'waiting') return accepted(done, agent, waits)
  return done.status === 'completed' ? resultOf(done, agent.id) : failureOf(done)
}

type NewRunNeeds = KeepNeeds & Needs<'door' | 'given' | 'repeatable'>

/** The invocation that was asked for. */
async function newRun(asked: Asked, agent: Agent, served: Serving, context: NewRunNeeds): Promise<Invocation> {
  const user_id = requireUser(context.actor, asked.context.user_id)
  const bound = user_id === undefined ? asked : { ...asked, context: { ...asked.context, user_id } }
  const begun = newInvocation(bound, agent, served, context)
  if (context.given) requireTools(context.given, served.definition)
  const { attachments, given } = await keepAttachments(
    { attachments: asked.attachments, given: context.given },
    { agent_id: agent.id, user_id: user_id ?? null },
    context,
  )
  const invocation = attachments ? { ...begun, attachments: attachments.map(notShown) } : begun
  if (!given) return invocation
  return { ...invocation, ...(await takeGiven({ ...given, ...invocation.given }, invocation, context)) }
}

type EnqueueNeeds = NewRunNeeds & Needs<'config' | 'keyring' | 'newId' | 'pauses'>

/** Queues a run in the background, with its callback, in the transaction of the request. */
async function enqueue(agent_id: string, body: Asked, context: EnqueueNeeds): Promise<Accepted> {
  const { db } = context
  const agent = await agents.get(db, agent_id)
  requireRunning(agent, await context.pauses.find(agent.project_id, db))
  requireRoom(await projects.get(db, agent.project_id))
  const invocation = await newRun(body, agent, await servedNow(db, agent, body.environment), context)
  await enqueueRun(db, invocation, agent)
  if (body.callback) {
    const run = { project_id: agent.project_id, agent_id: agent.id, request_id: invocation.id }
    await callbacks.insert(db, callbackOf(body.callback, run, context, 'callback.').callback)
  }
  return accepted(invocation, agent)
}

/** What a run waits for. */
type Waits = { approvals: readonly AwaitedApproval[]; reason?: string }

/** A run that asks people nothing waits because of a pause, which may be over by now. */
async function pauseOf(
  { project_id }: Agent,
  asked: readonly unknown[],
  { pauses }: Needs<'pauses'>,
): Promise<{ reason?: string }> {
  const pause = asked.length === 0 ? await pauses.find(project_id) : undefined
  return pause ? { reason: pausedMessage(pause) } : {}
}

/** The work goes on, and the receipt will show its result. */
function accepted({ id: request_id, status }: Invocation, agent: Agent, waits?: Waits): Accepted {
  const location = `/v1/agents/${agent.id}/invocations/${request_id}`
  return new Accepted({ request_id, status, ...waits }, location, status === 'queued')
}
