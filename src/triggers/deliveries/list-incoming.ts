import { answersOf } from '../../answers/store.ts'
import { IncomingDeliveryReply, IncomingOutcome, presentIncoming } from '../../incoming/incoming-delivery.ts'
import * as incoming from '../../incoming/store.ts'
import { operation } from '../../operation.ts'
import { listQuery } from '../../shapes.ts'
import * as triggers from '../store.ts'
import { TriggerParams } from '../trigger.ts'

export const listTriggerDeliveries = operation({
  id: 'listTriggerDeliveries',
  method: 'GET',
  path: '/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries',
  summary: "List a trigger's deliveries",
  description:
    'Lists what the trigger received, and what became of it. Deliveries are kept for `retention.deliveries`. Of refused requests, at most 10 per minute are listed.',
  access: { permission: 'read' },
  input: {
    params: TriggerParams,
    query: listQuery(['created_at', 'id'], { outcome: IncomingOutcome.optional() }),
  },
  answer: { list: IncomingDeliveryReply },

  async run({ params, query: { outcome, ...page } }, { db }) {
    const { id } = await triggers.get(db, params.agent_id, params.trigger_id)
    const { items, total } = await incoming.list(db, id, page, outcome)
    const answers = await answersOf(
      db,
      items.flatMap(({ request_id }) => request_id ?? []),
    )
    return { items: items.map((item) => presentIncoming(item, answers.get(item.request_id ?? ''))), total }
  },
})
