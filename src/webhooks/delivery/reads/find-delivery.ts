import { z } from 'zod'
import { requireFound } from '../../../operation/scope.ts'
import { operation } from '../../../operation.ts'
import type { Database } from '../../../storage/database.ts'
import * as webhooks from '../../store.ts'
import { agentOfDelivery } from '../../webhook-in-scope.ts'
import { sentBody } from '../callback-message.ts'
import { DeliveryWithBody, presentDelivery } from '../delivery.ts'
import * as deliveries from '../delivery-store.ts'

export const findDelivery = operation({
  id: 'findDelivery',
  method: 'GET',
  path: '/v1/deliveries/{delivery_id}',
  summary: 'Get a delivery by ID',
  description: "Use this if you know the delivery's ID but not its webhook.",
  access: {
    permission: 'read',
    async concerns({ params: { delivery_id } }, db) {
      const found = await deliveries.find(db, delivery_id)
      return found ? agentOfDelivery({ params: { webhook_id: found.webhook_id, delivery_id } }, db) : null
    },
  },
  input: { params: z.strictObject({ delivery_id: z.string() }) },
  answer: { data: DeliveryWithBody },

  async run({ params: { delivery_id: id } }, { db, actor }) {
    const found = await deliveries.find(db, id)
    const webhook = requireFound(actor, await webhookOf(db, found), { kind: 'Delivery', id })
    const delivery = found as NonNullable<typeof found>
    const body = sentBody(webhook, await deliveries.getBody(db, delivery.event_id))
    return { ...presentDelivery(delivery), body }
  },
})

async function webhookOf(db: Database, delivery: { webhook_id: string } | undefined) {
  return delivery && webhooks.find(db, delivery.webhook_id)
}
