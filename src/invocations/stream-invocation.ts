import * as agents from '../agents/store.ts'
import { ApiError } from '../errors.ts'
import { type Context, operation } from '../operation.ts'
import { getInScope } from './in-scope.ts'
import {
  type Invocation,
  InvocationParams,
  InvocationResult,
  isFinal,
  replayEvents,
  resultOf,
  startEvent,
} from './invocation.ts'
import * as invocations from './store.ts'

const LOOK_AGAIN_MS = 100

export const streamInvocation = operation({
  id: 'streamInvocation',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/stream',
  summary: 'Follow an invocation',
  description:
    'The events of an invocation, from the beginning or after `Last-Event-ID`, until it ends. One that has ended is told from its receipt.',
  permission: 'read',
  errors: ['timeout', 'conflict'],
  params: InvocationParams,
  data: InvocationResult,
  streams: { always: true },

  async run({ params }, context) {
    const { db, actor, emit, last_event_id, live } = context
    const agent = await agents.get(db, params.agent_id)
    // What runs here may not be stored yet; whose it is must be known before a word of it is told.
    if (actor.user_id !== undefined) await getInScope(db, actor, agent.seq, params.request_id)
    const here = live.find(params.request_id)
    if (here?.agent_id === agent.id && emit) {
      if (last_event_id === undefined) emit(startEvent(params.request_id))
      const unfollow = here.follow(last_event_id, emit)
      await Promise.race([here.ended, hungUp(context)]).finally(unfollow)
      return resultOrError(await invocations.get(db, agent.seq, params.request_id))
    }

    const invocation = await untilFinal(agent.seq, params.request_id, context)
    if (invocation.response !== null) {
      const told = { request_id: invocation.id, response: invocation.response, steps: invocation.steps }
      for (const event of replayEvents(told, last_event_id)) emit?.(event)
    }
    return resultOrError(invocation)
  },
})

/** It runs on another node, or waits in the queue: the receipt tells when it has ended. */
async function untilFinal(agent_seq: number, id: string, { db, onHangUp, live }: Context): Promise<Invocation> {
  let gone = false
  onHangUp?.(() => {
    gone = true
  })
  for (;;) {
    const invocation = await invocations.get(db, agent_seq, id)
    if (isFinal(invocation) || gone) return invocation
    await Promise.race(
      [live.find(id)?.ended, new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))].filter(Boolean),
    )
  }
}

function hungUp({ onHangUp }: Context): Promise<void> {
  return new Promise((resolve) => onHangUp?.(resolve))
}

function resultOrError(invocation: Invocation) {
  if (invocation.error) throw new ApiError(invocation.error.code, invocation.error.message)
  return resultOf(invocation)
}
