import { requireFewSecrets } from '../errors.ts'
import { requireLasting } from '../operation/actor.ts'
import { operation } from '../operation.ts'
import { RotationBody } from '../shapes.ts'
import * as webhooks from './store.ts'
import { newSecret, presentWebhook, secretsInGrace, WebhookParams, WebhookWithSecret } from './webhook.ts'
import { concernedAgent, getChangeable } from './webhook-in-scope.ts'

export const rotateWebhookSecret = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/rotate-secret',
  summary: "Rotate a webhook's secret",
  description:
    'The new secret is returned only in this reply. Until the grace period ends, `webhook-signature` contains a signature with each secret; `X-Service-Signature` contains one, and uses the new secret immediately. Secrets from earlier rotations keep their own grace periods; `grace_period_seconds: 0` ends all old secrets immediately.',
  access: { permission: 'write', concerns: concernedAgent },
  mfa: { policy: 'webhooks' },
  audit: { target: 'webhook_id' },
  idempotent: true,
  input: { params: WebhookParams, body: RotationBody, bodyOptional: true },
  answer: { data: WebhookWithSecret, secret: true, errors: ['conflict'] },

  async run({ params, body }, { db, actor, keyring, now }) {
    await webhooks.lock(db, params.webhook_id)
    const webhook = await getChangeable(db, actor, params.webhook_id)
    requireLasting(actor, 'A webhook')
    const { secret, sealed } = newSecret(keyring)
    const time = now()
    const grace_ms = body.grace_period_seconds * 1000
    const earlier = grace_ms > 0 ? secretsInGrace(webhook, time) : []
    requireFewSecrets(earlier.length)
    const changes = {
      ...sealed,
      earlier_secrets: grace_ms > 0 ? [{ secret: webhook.secret, expires_at: time + grace_ms }, ...earlier] : [],
      updated_at: Math.max(time, webhook.updated_at),
    }
    await webhooks.update(db, webhook.id, changes)
    return { ...presentWebhook({ ...webhook, ...changes }, time), secret }
  },
})
