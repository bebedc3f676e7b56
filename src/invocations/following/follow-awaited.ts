import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import { ApiError, notFound, SESSION_BUSY, StillRunning } from '../../errors.ts'
import type { Needs } from '../../operation/context.ts'
import { pausedMessage } from '../../operation/pauses.ts'
import { AcceptedReply } from '../../operation/reply-channel.ts'
import type { Position } from '../../runtime/following/transcript.ts'
import { withSignInLinks } from '../approvals/sign-in-links.ts'
import { type CancelParts, cancelRun } from '../cancel-run.ts'
import { type AwaitedApproval, listAwaited } from '../children/awaited-approvals.ts'
import { endUnownedRun } from '../effects/end-unowned-run.ts'
import { CANCELLED, type Invocation, isFinal } from '../invocation.ts'
import { getResult } from '../receipt.ts'
import { type FollowNeeds, followInvocation } from './follow-invocation.ts'

type AwaitNeeds = CancelParts & FollowNeeds & Needs<'config' | 'log' | 'repeatable'>

/** A run that waits for the turn of its session. */
export type AwaitedTurn = { queued: Invocation; agent: Agent; definition: Definition }

export type Earlier = { agent: Agent; invocation: Invocation }

/** Waits until the earlier run ends. The run continues even if it can no longer be followed from here. */
export async function followEarlier({ agent, invocation }: Earlier, context: FollowNeeds, told?: Position) {
  const followed = followInvocation(agent, invocation.id, { told, endless: false }, context)
  const found = await followed.catch((error) => {
    throw new StillRunning(error instanceof ApiError ? error.message : 'The run is active. Try again shortly.', error)
  })
  return answerEarlier({ agent, invocation: found }, context)
}

type AnswerNeeds = Needs<'connections' | 'db' | 'pauses' | 'storage'>

/** Replies with the current state of the earlier run. */
export async function answerEarlier({ agent, invocation }: Earlier, context: AnswerNeeds) {
  const { db, pauses } = context
  if (invocation.erased_at !== null) throw notFound('Invocation', invocation.id)
  if (isFinal(invocation)) return getResult(invocation, agent.id)
  if (invocation.status === 'waiting') {
    const approvals = await withSignInLinks(await listAwaited(db, invocation.id), context)
    return accepted(invocation, agent, { approvals, ...(await pauseOf(agent, approvals, { pauses })) })
  }
  return accepted({ ...invocation, status: 'queued' }, agent)
}

/** The client waits for the turn of its session, but no longer than the run itself could take. */
export async function followInLine({ queued, agent, definition }: AwaitedTurn, context: AwaitNeeds) {
  const giveUp = () => {
    const ending = { agent, status: 'failed', error: SESSION_BUSY } as const
    // If the run's turn has come in the meantime, nothing is written.
    endUnownedRun(queued, ending, context).catch((err) => context.log.warn({ err }, 'a run in line was not ended'))
  }
  const timer = setTimeout(giveUp, definition.limits.timeout_ms ?? context.config.limits.invokeTimeout)
  try {
    return await followAwaited({ agent, invocation: queued }, context)
  } catch (error) {
    // This node stops. Without an Idempotency-Key, the client can't send the request again and find the run.
    const isLost = error instanceof StillRunning && !context.repeatable
    if (isLost) await endUnownedRun(queued, { agent, status: 'cancelled', error: CANCELLED }, context)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Sends the client the rest of the run. If the client disconnects while it waits for the answer, the run is cancelled.
 */
export async function followAwaited({ agent, invocation }: Earlier, context: AwaitNeeds, told?: Position) {
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

/** What a run waits for. */
export type AwaitedBy = { approvals: readonly AwaitedApproval[]; reason?: string }

/** A waiting run that asks people nothing waits because of a pause, which may be over by now. */
export async function pauseOf(
  { project_id }: Agent,
  asked: readonly unknown[],
  { pauses }: Needs<'pauses'>,
): Promise<{ reason?: string }> {
  const pause = asked.length === 0 ? await pauses.find(project_id) : undefined
  return pause ? { reason: pausedMessage(pause) } : {}
}

/** The reply while the work continues. The receipt will contain the result. */
export function accepted({ id: request_id, status }: Invocation, agent: Agent, waits?: AwaitedBy): AcceptedReply {
  const location = `/v1/agents/${agent.id}/invocations/${request_id}`
  return new AcceptedReply({ request_id, status, ...waits }, location, status === 'queued')
}
