import { answersOf } from '../../answers/store.ts'
import { IncomingDeliveryWithPayload, presentIncoming } from '../../incoming/incoming-delivery.ts'
import * as incoming from '../../incoming/store.ts'
import { operation } from '../../operation.ts'
import * as triggers from '../store.ts'
import { IncomingParams } from '../trigger.ts'

export const getTriggerDelivery = operation({
  id: 'getTriggerDelivery',
  method: 'GET',
  path: '/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries/{delivery_id}',
  summary: "Get a trigger's delivery",
  description: 'Returns the delivery with its payload and headers. Headers that can contain secrets are not stored.',
  access: { permission: 'read' },
  input: { params: IncomingParams },
  answer: { data: IncomingDeliveryWithPayload },

  async run({ params }, { db }) {
    const { id } = await triggers.get(db, params.agent_id, params.trigger_id)
    const delivery = await incoming.get(db, id, params.delivery_id)
    const { request_id } = delivery
    const answer = request_id === null ? undefined : (await answersOf(db, [request_id])).get(request_id)
    return { ...presentIncoming(delivery, answer), headers: delivery.headers, payload: delivery.body }
  },
})
