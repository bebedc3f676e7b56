import { z } from 'zod'
import { operation } from '../operation.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import * as webhooks from './store.ts'
import { WebhookParams } from './webhook.ts'
import { concernedAgent, getInScope } from './webhook-in-scope.ts'

export const deleteWebhook = operation({
  id: 'deleteWebhook',
  method: 'DELETE',
  path: '/v1/webhooks/{webhook_id}',
  summary: 'Delete a webhook',
  description: 'Deletes the webhook with its deliveries. Nothing more is sent to it.',
  access: { permission: 'delete', concerns: concernedAgent },
  mfa: { policy: 'webhooks' },
  audit: { target: 'webhook_id' },
  input: { params: WebhookParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db, actor, newId, now }) {
    const { id } = await getInScope(db, actor, params.webhook_id)
    await webhooks.remove(db, id)
    // Its deliveries can no longer be reached. There may be many, so they are removed in the background.
    await enqueue(db, { id: newId('job', now()), kind: 'purge', run_at: now() })
    return { id, deleted: true as const }
  },
})
