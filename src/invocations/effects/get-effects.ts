import { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { MemoryReply } from '../../memory/memory.ts'
import * as memory from '../../memory/store.ts'
import { operation } from '../../operation.ts'
import { listOfRequest } from '../../webhooks/delivery/deliveries-of-request.ts'
import { DeliveryReply, presentDelivery } from '../../webhooks/delivery/delivery.ts'
import { InvocationParams } from '../invocation.ts'
import { getInScope } from '../invocation-in-scope.ts'

export const getEffects = operation({
  id: 'getEffects',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/effects',
  summary: "Get an invocation's memories and deliveries",
  description:
    'Returns the memories that the invocation wrote, and the webhook deliveries of the event sent when it ended. For its log entries, use `GET …/logs?request_id=`.',
  access: { permission: 'read' },
  input: { params: InvocationParams },
  answer: {
    data: z.object({ memories: z.array(MemoryReply), deliveries: z.array(DeliveryReply) }).meta({ id: 'Effects' }),
  },

  async run({ params }, { db, actor }) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    const found = await getInScope(db, actor, 'read', { agent_seq, id: params.request_id })
    const { id: request_id, finished_at, context } = found
    // Effects are written when a run ends.
    if (finished_at === null) return { memories: [], deliveries: [] }
    const { user_id = null, session_id = null } = context
    const { agent_id } = actor.scope
    const [memories, deliveries] = await Promise.all([
      memory.listOfRequest(db, { agent_seq, user_id, session_id }, { request_id, created_at: finished_at }),
      listOfRequest(db, { request_id, agent_id }),
    ])
    return { memories, deliveries: deliveries.map(presentDelivery) }
  },
})
