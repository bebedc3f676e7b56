import { requireLasting } from '../operation/actor.ts'
import { operation } from '../operation.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import * as webhooks from './store.ts'
import { presentWebhook, requireUrl, UpdateWebhookBody, WebhookParams, WebhookReply } from './webhook.ts'
import { concernedAgent, getChangeable } from './webhook-in-scope.ts'

export const updateWebhook = operation({
  id: 'updateWebhook',
  method: 'PATCH',
  path: '/v1/webhooks/{webhook_id}',
  summary: 'Update a webhook',
  description:
    'Changes only the fields you send. While the webhook is disabled, nothing is sent and new events are skipped; deliveries that were already waiting are sent when you enable it again.',
  access: { permission: 'write', concerns: concernedAgent },
  mfa: { policy: 'webhooks' },
  audit: { target: 'webhook_id' },
  idempotent: true,
  input: { params: WebhookParams, body: UpdateWebhookBody },
  answer: { data: WebhookReply },

  async run({ params, body }, { db, actor, config, now }) {
    await webhooks.lock(db, params.webhook_id)
    const webhook = await getChangeable(db, actor, params.webhook_id)
    if (body.url !== undefined) {
      requireLasting(actor, 'A webhook')
      requireUrl(body.url, policiesOf(config).webhooks)
    }
    const status = body.status ?? webhook.status
    // After a new URL, or when the webhook is enabled again, earlier failures no longer count.
    const isFresh = (body.url ?? webhook.url) !== webhook.url || status !== webhook.status
    const changes = {
      url: body.url ?? webhook.url,
      events: body.events ?? webhook.events,
      description: body.description === undefined ? webhook.description : body.description,
      status,
      disabled_reason: status === 'enabled' ? null : (webhook.disabled_reason ?? ('requested' as const)),
      failing_since: isFresh ? null : webhook.failing_since,
      updated_at: Math.max(now(), webhook.updated_at),
    }
    await webhooks.update(db, webhook.id, changes)
    return presentWebhook({ ...webhook, ...changes }, now())
  },
})
