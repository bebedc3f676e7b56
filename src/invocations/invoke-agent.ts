import type { z } from 'zod'
import { type Agent, AgentParams } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import * as agents from '../agents/store.ts'
import { serving } from '../deployments/serving.ts'
import { ApiError, conflict, invalid, notFound, StillRunning } from '../errors.ts'
import { withValue } from '../lib/with-value.ts'
import type { Context } from '../operation/context.ts'
import { GoesOutside } from '../operation/goes-outside.ts'
import { Accepted } from '../operation/reply-channel.ts'
import { requireUser } from '../operation/scope.ts'
import { Unwritten } from '../operation/unwritten.ts'
import { operation } from '../operation.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import { answersAtOnce } from '../runtime/models/answers-at-once.ts'
import { StepNotKept } from '../runtime/steps.ts'
import { announce, type Database } from '../storage/database.ts'
import * as callbacks from '../webhooks/callback-store.ts'
import { admit, leave, notAdmittedError } from './admit.ts'
import { listPending } from './approvals/approval-store.ts'
import { waitingEvent } from './approvals/waiting-event.ts'
import { callbackOf, type NewCallback } from './callbacks/callback.ts'
import { followInvocation } from './following/follow-invocation.ts'
import { replayEvents, startEvent } from './following/stream-events.ts'
import { requireTools } from './given/require-tools.ts'
import { takeGiven } from './given/take-given.ts'
import { type Asked, type Invocation, InvokeBody, isFinal, newInvocation, STOPPED } from './invocation.ts'
import { giveBack } from './queue/queue-store.ts'
import { failureOf, getResult, InvocationResult, QueuedReply, resultOf } from './receipt.ts'
import * as rows from './rows/invocation-rows.ts'
import { type Done, runInvocation } from './run-invocation.ts'
import type { Started } from './steps/stored-run.ts'
import * as invocations from './store.ts'

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
  audit: false,
  errors: ['agent_paused', 'conflict', 'timeout'],
  params: AgentParams,
  body: InvokeBody,
  data: InvocationResult,
  accepted: QueuedReply,
  streams: { replay: replayEvents },

  async staysInside({ params, body }, context) {
    if (context.mode !== 'reply') return context.mode === 'background'
    const user_id = requireUser(context.actor, body.context.user_id)
    // With a user or a session, the run may be stored before it ends.
    if (user_id !== undefined || body.context.session_id !== undefined) return false
    const agent = await agents.findKnown(params.agent_id, context)
    return agent !== undefined && answersAtOnce((await serving(agent, body.environment, context)).definition)
  },

  async run({ params, body }, context) {
    const { emit, live, mode, node, request_id } = context
    if (body.callback && mode !== 'background') {
      throw invalid({ field: 'callback', error: 'is for a run in the background' })
    }
    const earlier = context.repeatable?.earlier && (await findEarlier(params.agent_id, context))
    if (earlier) return mode === 'background' ? presentEarlier(earlier, context) : followEarlier(earlier, context)
    if (mode === 'background') return queue(await prepare(params.agent_id, body, context), body.callback, context)

    // From here on a pause finds the run and stops it. An earlier pause is read below.
    const run = live.start(request_id, params.agent_id)
    context.onHangUp?.(() => run.cancel())
    const unfollow = emit && run.follow({ characters: 0, tools: 0 }, emit)
    const end = () => {
      unfollow?.()
      leave(run, context)
    }
    try {
      const prepared = prepare(params.agent_id, body, context)
      const asking = prepared instanceof Promise ? await prepared : prepared
      const { invocation, agent, definition } = asking
      // The agent may have changed since `staysInside` was asked.
      if (context.repeatable?.claimed === false && !answersAtOnce(definition)) throw new GoesOutside()
      const refusal = await admit(run, asking, context)
      if (refusal) throw notAdmittedError(refusal, agent, definition)
      emit?.(startEvent(request_id))
      const begins = { invocation, agent, definition, run, owner: node, streaming: emit !== undefined }
      const started = { ...begins, stored: run.lease !== undefined, ...NOTHING_KEPT, span: context.span }
      const { invocation: done, entry, asked } = await runInvocation(started, context)
      if (wasStopped(done) && (await giveToQueue(run, context))) throw new StillRunning(STOPPED.message)
      // It may be woken and taken again, also by this node, as soon as this is on disk.
      if (done.status === 'waiting') run.abandon()
      const answer = answerOf(done, agent, asked)
      // The run ends, and gives its places back, when its entry is on disk.
      const ended = (written: boolean) => {
        if (written && done.status !== 'waiting') context.telemetry.runs.add(1, done.status)
        if (written && asked) emit?.(waitingEvent({ attempt: done.attempt, ...run.told }, waitingReply(done, asked)))
        end()
      }
      return new Unwritten(entry, answer, { lease: run.lease, lost: ENDED_ELSEWHERE, ended })
    } catch (error) {
      end()
      throw notFinished(error, run, context)
    }
  },
})

const NOTHING_KEPT: Pick<Started, 'kept' | 'nextPosition'> = { kept: [], nextPosition: 0 }

const ENDED_ELSEWHERE = 'The invocation was ended by another node'

/** Another node goes on with the stored run of a request that may be repeated, and marks any other as failed. */
function notFinished(cause: unknown, { lease }: LiveRun, { repeatable }: Context): unknown {
  if (cause instanceof StillRunning) return cause
  const isElsewhere = cause instanceof StepNotKept
  if (repeatable && (lease || isElsewhere)) {
    return new StillRunning('The service could not go on with the run here', cause)
  }
  return isElsewhere ? conflict(ENDED_ELSEWHERE) : cause
}

/**
 * What the same request began before its process died: it goes on by itself, and this request waits for its end.
 * Undefined when nothing of it was stored: then it begins anew.
 */
async function findEarlier(agent_id: string, context: Context): Promise<Earlier | undefined> {
  const { db, repeatable } = context
  const id = repeatable?.earlier
  if (id === undefined) return undefined
  const agent = await agents.findKnown(agent_id, context)
  if (agent && (await invocations.find(db, agent.seq, id))) return { agent, id }
  if (await repeatable?.beginAnew()) return undefined
  throw new StillRunning('Another request with this Idempotency-Key has begun, try again shortly')
}

type Earlier = { agent: Agent; id: string }

/** The earlier run goes on, even if it cannot be followed here any longer. */
async function followEarlier({ agent, id }: Earlier, context: Context) {
  let found: Invocation
  try {
    found = await followInvocation(agent, id, { told: undefined, endless: false }, context)
  } catch (error) {
    throw new StillRunning(error instanceof ApiError ? error.message : 'The run goes on, try again shortly', error)
  }
  return answerEarlier(found, agent, context)
}

/** The earlier run is answered for as it is now, for a client that does not want to wait. */
async function presentEarlier({ agent, id }: Earlier, context: Context) {
  return answerEarlier(await invocations.get(context.db, agent.seq, id), agent, context)
}

async function answerEarlier(found: Invocation, agent: Agent, { db }: Context) {
  if (isFinal(found)) return getResult(found, agent.id)
  const status = found.status === 'waiting' ? 'waiting' : 'queued'
  return accepted({ ...found, status }, agent, status === 'waiting' ? await listPending(db, [found.id]) : undefined)
}

/** Ended by the stop of the service, not by anybody's wish. */
function wasStopped({ keyed, status, error }: Invocation): boolean {
  return keyed && status === 'cancelled' && error === STOPPED
}

/** Another node, or the next start, goes on with the run. False when it is not stored. */
async function giveToQueue({ lease, began }: LiveRun, { storage }: Context): Promise<boolean> {
  if (!lease || !began) return false
  await storage.transaction(async (db) => {
    await giveBack(db, lease, began.attempt)
    await announce(db, 'queue')
  })
  return true
}

function answerOf(done: Done['invocation'], agent: Agent, asked: Done['asked']): unknown {
  if (done.status === 'waiting') return accepted(done, agent, asked)
  return done.status === 'completed' ? resultOf(done, agent.id) : failureOf(done)
}

type Prepared = { invocation: Invocation; agent: Agent; definition: Definition }

/** The invocation that was asked for, and the definition that will answer it. */
function prepare(agent_id: string, asked: Asked, context: Context): Prepared | Promise<Prepared> {
  return withValue(agents.findKnown(agent_id, context), (agent) => {
    if (!agent) throw notFound('Agent', agent_id)
    const user_id = requireUser(context.actor, asked.context.user_id)
    const bound = { ...asked, context: bindUser(asked.context, user_id) }
    return withValue(serving(agent, asked.environment, context), (served) => {
      const invocation = newInvocation(bound, agent, served, context)
      const prepared = { invocation, agent, definition: served.definition }
      if (!context.given) return prepared
      requireTools(context.given, served.definition)
      const taken = takeGiven(context.given, invocation, context)
      return withValue(taken, (given) => ({ ...prepared, invocation: { ...invocation, ...given } }))
    })
  })
}

function bindUser(context: Asked['context'], user_id: string | undefined): Asked['context'] {
  return user_id === undefined ? context : { ...context, user_id }
}

function queue(
  { invocation, agent, definition }: Prepared,
  asked: z.output<typeof NewCallback> | undefined,
  context: Context,
): Unwritten {
  if (agent.status === 'paused') throw notAdmittedError('paused', agent, definition)
  const writes = [rows.insertion(invocation)]
  if (!asked) return new Unwritten({ writes }, accepted(invocation, agent))
  const run = { agent_id: agent.id, request_id: invocation.id }
  const { callback } = callbackOf(asked, run, context, 'callback.')
  const guard = async (db: Database) => {
    await callbacks.insert(db, callback)
    return true
  }
  return new Unwritten({ writes, guard }, accepted(invocation, agent))
}

/** The work goes on, and the receipt will show its result. */
function accepted({ id: request_id, status }: Invocation, agent: Agent, approvals?: Done['asked']): Accepted {
  const location = `/v1/agents/${agent.id}/invocations/${request_id}`
  return new Accepted({ request_id, status, approvals }, location, status === 'queued')
}

function waitingReply({ id: request_id }: Invocation, approvals: NonNullable<Done['asked']>) {
  return { request_id, status: 'waiting' as const, approvals: [...approvals] }
}
