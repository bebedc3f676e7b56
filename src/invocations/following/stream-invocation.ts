import * as agents from '../../agents/store.ts'
import { invalid } from '../../errors.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { type Position, readEventId } from '../../runtime/following/transcript.ts'
import { InvocationParams } from '../invocation.ts'
import { getResult, InvocationResult } from '../receipt.ts'
import { type FollowNeeds, followInvocation } from './follow-invocation.ts'

export const streamInvocation = operation({
  id: 'streamInvocation',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/stream',
  summary: 'Stream an invocation',
  description:
    "Streams the invocation's events from the start, or after `Last-Event-ID`, until it ends. If it has already ended, the events come from its receipt.",
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: { params: InvocationParams },
  answer: { data: InvocationResult, streams: { always: true }, errors: ['timeout', 'conflict', 'output_invalid'] },

  async run({ params }, context: FollowNeeds & Needs<'last_event_id'>) {
    const agent = await agents.get(context.db, params.agent_id)
    const told = positionOf(context.last_event_id)
    const ended = await followInvocation(agent, params.request_id, { told, endless: true }, context)
    return getResult(ended, agent.id)
  },
})

function positionOf(last_event_id: string | undefined): Position | undefined {
  if (!last_event_id) return undefined
  const position = readEventId(last_event_id)
  if (!position) throw invalid({ field: 'Last-Event-ID', error: 'must be the ID of an event of this invocation' })
  return position
}
