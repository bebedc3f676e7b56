import { operation } from '../operation.ts'
import { presentWebhook, WebhookParams, WebhookReply } from './webhook.ts'
import { concernedAgent, getInScope } from './webhook-in-scope.ts'

export const getWebhook = operation({
  id: 'getWebhook',
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}',
  summary: 'Get a webhook',
  description: 'Returns the webhook with a hint of its secret, and shows whether it is failing and since when.',
  access: { permission: 'read', concerns: concernedAgent },
  input: { params: WebhookParams },
  answer: { data: WebhookReply },

  async run({ params }, { db, actor, now }) {
    return presentWebhook(await getInScope(db, actor, params.webhook_id), now())
  },
})
