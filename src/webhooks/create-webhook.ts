import * as agents from '../agents/store.ts'
import { conflict, invalid } from '../errors.ts'
import { requireLasting } from '../operation/actor.ts'
import { requireScope } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import * as webhooks from './store.ts'
import { CreateWebhookBody, NO_CALLBACK, newSecret, presentWebhook, requireUrl, WebhookWithSecret } from './webhook.ts'

export const createWebhook = operation({
  id: 'createWebhook',
  method: 'POST',
  path: '/v1/webhooks',
  summary: 'Create a webhook',
  description:
    "Events are sent to `url`, signed with the secret, which is returned only in this reply. A key limited to one agent must name that agent. Tokens can't create webhooks, because a webhook outlives its token.",
  access: {
    permission: 'write',
    concerns: async ({ body }) => body.agent_id,
  },
  mfa: { policy: 'webhooks' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { body: CreateWebhookBody },
  answer: { status: 201, data: WebhookWithSecret, secret: true, errors: ['conflict'] },

  async run({ body }, { db, actor, config, keyring, newId, now }) {
    requireLasting(actor, 'A webhook')
    const agent = body.agent_id === null ? undefined : await agents.findIn(db, actor.scope.project_id, body.agent_id)
    requireScope(actor, agent?.id ?? null)
    if (body.agent_id !== null && !agent)
      throw invalid({ field: 'agent_id', error: 'no agent with this ID or name exists' })
    requireUrl(body.url, policiesOf(config).webhooks)
    const { maxPerAgent } = config.webhooks
    if ((await webhooks.countAndHold(db, actor.scope.project_id, agent?.id ?? null)) >= maxPerAgent) {
      const whose = agent ? 'This agent already has' : 'There are already'
      throw conflict(`${whose} ${maxPerAgent} webhooks, the limit set by webhooks.maxPerAgent. Delete one first.`)
    }

    const { secret, sealed } = newSecret(keyring)
    const time = now()
    const webhook = {
      ...body,
      ...sealed,
      id: newId('whk', time),
      project_id: actor.scope.project_id,
      agent_id: agent?.id ?? null,
      status: 'enabled' as const,
      disabled_reason: null,
      earlier_secrets: [],
      failing_since: null,
      created_by: actor.id,
      created_at: time,
      updated_at: time,
      ...NO_CALLBACK,
    }
    await webhooks.insert(db, webhook)
    return { ...presentWebhook(webhook, time), secret }
  },
})
