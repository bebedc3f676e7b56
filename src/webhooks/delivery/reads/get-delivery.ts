import { operation } from '../../../operation.ts'
import { agentOfDelivery, getInScope } from '../../webhook-in-scope.ts'
import { sentBody } from '../callback-message.ts'
import { DeliveryParams, DeliveryWithBody, presentDelivery } from '../delivery.ts'
import * as deliveries from '../delivery-store.ts'

export const getDelivery = operation({
  id: 'getDelivery',
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}',
  summary: 'Get a delivery',
  description: 'Returns the delivery with its body.',
  access: { permission: 'read', concerns: agentOfDelivery },
  input: { params: DeliveryParams },
  answer: { data: DeliveryWithBody },

  async run({ params }, { db, actor }) {
    const webhook = await getInScope(db, actor, params.webhook_id)
    const delivery = await deliveries.get(db, webhook.id, params.delivery_id)
    return {
      ...presentDelivery(delivery),
      body: sentBody(webhook, await deliveries.getBody(db, delivery.event_id)),
    }
  },
})
