import { z } from 'zod'
import { operation } from '../operation.ts'
import { concernedAgent, getInScope } from './in-scope.ts'
import * as webhooks from './store.ts'
import { WebhookParams } from './webhook.ts'

export const deleteWebhook = operation({
  id: 'deleteWebhook',
  method: 'DELETE',
  path: '/v1/webhooks/{webhook_id}',
  summary: 'Delete a webhook',
  description: 'Nothing more is sent to it, and its deliveries are removed.',
  permission: 'delete',
  mfa: 'webhooks',
  params: WebhookParams,
  concerns: concernedAgent,
  data: z.object({ id: z.string(), deleted: z.literal(true) }),

  async run({ params }, { db, actor }) {
    const { id } = await getInScope(db, actor, params.webhook_id)
    await webhooks.remove(db, id)
    return { id, deleted: true as const }
  },
})
