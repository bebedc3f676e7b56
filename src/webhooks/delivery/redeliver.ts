import * as agents from '../../agents/store.ts'
import { conflict } from '../../errors.ts'
import { operation } from '../../operation.ts'
import { agentOfDelivery, getInScope } from '../webhook-in-scope.ts'
import { DeliveryParams, DeliveryReply, presentDelivery } from './delivery.ts'
import * as deliveries from './delivery-store.ts'
import { isWithheld } from './withheld.ts'

export const redeliver = operation({
  id: 'redeliver',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
  summary: 'Redeliver an event',
  description:
    'Sends the same event again immediately, with the same ID, body and retries, even if it was delivered before.',
  access: { permission: 'write', concerns: agentOfDelivery },
  mfa: { policy: 'webhooks' },
  audit: { target: 'delivery_id' },
  idempotent: true,
  input: { params: DeliveryParams },
  answer: { data: DeliveryReply, errors: ['conflict'] },

  async run({ params }, { db, actor, now }) {
    const webhook = await getInScope(db, actor, params.webhook_id)
    const { id } = await deliveries.get(db, webhook.id, params.delivery_id)
    if (webhook.status === 'disabled') throw conflict('This webhook is disabled. Enable it first.')
    const agent_id = webhook.agent_id === null ? await deliveries.findAgentOf(db, webhook.id, id) : null
    const agent = agent_id === null ? undefined : await agents.find(db, agent_id)
    if (agent && isWithheld(agent)) {
      throw conflict(
        'This agent restricts its callers, so its events are only sent to webhooks created for it (agent_id).',
      )
    }
    if (!(await deliveries.restart(db, id, now()))) throw conflict('This delivery is already in progress.')
    return presentDelivery(await deliveries.get(db, webhook.id, id))
  },
})
