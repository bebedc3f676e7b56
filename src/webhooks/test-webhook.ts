import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { attempt } from './delivery/attempt.ts'
import { Attempt } from './delivery/delivery.ts'
import { eventBody } from './emit-events.ts'
import { signingSecrets, WebhookParams } from './webhook.ts'
import { concernedAgent, getChangeable } from './webhook-in-scope.ts'

const { response_status, error, duration_ms } = Attempt.shape

type TestNeeds = Needs<'db' | 'actor' | 'config' | 'keyring' | 'webhookFetch' | 'newId' | 'now'>

export const testWebhook = operation({
  id: 'testWebhook',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/test',
  summary: 'Send a test event',
  description:
    'Sends a signed `ping` immediately, even to a disabled webhook, and returns the result. It is tried once and not recorded as a delivery.',
  access: { permission: 'write', concerns: concernedAgent },
  mfa: { policy: 'webhooks' },
  audit: { target: 'webhook_id' },
  idempotent: true,
  // Not in a transaction, because this waits for the receiver.
  transaction: false,
  input: { params: WebhookParams },
  answer: {
    data: z
      .object({ event_id: z.string(), delivered: z.boolean(), response_status, error, duration_ms })
      .meta({ id: 'WebhookTest' }),
  },

  async run({ params }, { db, actor, config, keyring, webhookFetch, newId, now }: TestNeeds) {
    const webhook = await getChangeable(db, actor, params.webhook_id)
    const { id: webhook_id, url, project_id, agent_id } = webhook
    const time = now()
    const event_id = newId('evt', time)
    const body = eventBody({ id: event_id, type: 'ping', project_id, agent_id, data: () => ({ webhook_id }), time })
    const secrets = signingSecrets(webhook, keyring, time)
    const message = { url, event_id, event: 'ping', body, attempt: 1, secrets, headers: {} }

    const { attemptTimeout: timeout_ms } = config.webhooks
    const outcome = await attempt(webhookFetch, message, { timeout_ms, now, owner: agent_id ?? webhook_id })
    return { event_id, delivered: outcome.error === null, ...outcome }
  },
})
