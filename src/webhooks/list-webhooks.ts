import { z } from 'zod'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import * as webhooks from './store.ts'
import { EventName, presentWebhook, WebhookReply, WebhookStatus } from './webhook.ts'

export const listWebhooks = operation({
  id: 'listWebhooks',
  method: 'GET',
  path: '/v1/webhooks',
  summary: 'List webhooks',
  description: "Secrets are never returned. A key limited to one agent sees only that agent's webhooks.",
  access: {
    permission: 'read',
    concerns: async ({ query }) => query.agent_id ?? null,
  },
  input: {
    query: listQuery(['created_at', 'updated_at', 'url', 'status', 'id'], {
      agent_id: z.string().optional(),
      event: EventName.optional().describe('Only webhooks that receive this event'),
      status: WebhookStatus.optional(),
    }),
  },
  answer: { list: WebhookReply },

  async run({ query }, { db, actor, shownAgents, now }) {
    const { agent_id: ref, event, status, ...page } = query
    const agent_id = ref === undefined ? undefined : ((await agents.findIn(db, actor.scope.project_id, ref))?.id ?? ref)
    const { items, total } = await webhooks.list(db, page, { shown: await shownAgents(), agent_id, event, status })
    return { items: items.map((webhook) => presentWebhook(webhook, now())), total }
  },
})
