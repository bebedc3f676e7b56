import { operation } from '../../../operation.ts'
import { listQuery } from '../../../shapes.ts'
import { EventName, WebhookParams } from '../../webhook.ts'
import { concernedAgent, getInScope } from '../../webhook-in-scope.ts'
import { DeliveryReply, DeliveryStatus, presentDelivery } from '../delivery.ts'
import * as deliveries from '../delivery-store.ts'

export const listDeliveries = operation({
  id: 'listDeliveries',
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}/deliveries',
  summary: "List a webhook's deliveries",
  description: 'Lists deliveries with their latest attempts. Deliveries are kept for `retention.deliveries`.',
  access: { permission: 'read', concerns: concernedAgent },
  input: {
    params: WebhookParams,
    query: listQuery(['created_at', 'id'], { status: DeliveryStatus.optional(), event: EventName.optional() }),
  },
  answer: { list: DeliveryReply },

  async run({ params, query }, { db, actor, shownAgents }) {
    const { status, event, ...page } = query
    const { id } = await getInScope(db, actor, params.webhook_id)
    const { items, total } = await deliveries.list(db, id, page, { shown: await shownAgents(), status, event })
    return { items: items.map(presentDelivery), total }
  },
})
