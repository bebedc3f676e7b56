import * as agents from '../agents/store.ts'
import { ApiError } from '../errors.ts'
import { operation } from '../operation.ts'
import type { StreamEvent } from '../runtime/live-runs.ts'
import { getInScope } from './in-scope.ts'
import {
  failureOf,
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
  userTokens: true,
  errors: ['timeout', 'conflict'],
  params: InvocationParams,
  data: InvocationResult,
  streams: { always: true },

  async run({ params }, context) {
    const { db, actor, emit, last_event_id, live, onHangUp, openStream } = context
    const { request_id } = params
    const agent = await agents.get(db, params.agent_id)
    let gone = false
    const hungUp = new Promise<void>((resolve) => onHangUp?.(resolve)).then(() => {
      gone = true
    })
    let told = last_event_id

    // It may run here, begin here at any moment, or run on another node: then the receipt tells when it has ended.
    for (;;) {
      const here = live.find(request_id)
      // What runs here may not be stored yet; whose it is must be known before a word of it is told.
      const unstored = here?.agent_id === agent.id && actor.scope.user_id === null
      const invocation = unstored ? undefined : await getInScope(db, actor, agent.seq, request_id)
      openStream?.()
      if (invocation && isFinal(invocation)) return tellEnd(invocation)
      if (gone) throw new ApiError('conflict', 'Nobody follows this invocation any more')
      if (here?.agent_id === agent.id && emit) {
        if (told === undefined) tell(startEvent(request_id))
        const unfollow = here.follow(told, tell)
        await Promise.race([here.ended, hungUp]).finally(unfollow)
        const ended = await invocations.find(db, agent.seq, request_id)
        if (ended && isFinal(ended)) return tellEnd(ended)
      } else {
        await Promise.race([hungUp, new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))])
      }
    }

    function tell(event: StreamEvent): void {
      told = event.id
      emit?.(event)
    }

    function tellEnd(invocation: Invocation) {
      const { response, steps } = invocation
      for (const event of replayEvents({ request_id, response: response ?? '', steps }, told)) emit?.(event)
      if (invocation.status !== 'completed') throw failureOf(invocation)
      return resultOf(invocation)
    }
  },
})
