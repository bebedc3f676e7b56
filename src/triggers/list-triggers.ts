import { z } from 'zod'
import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { presentAll } from './present.ts'
import * as triggers from './store.ts'
import { TriggerReply } from './trigger.ts'

export const listTriggers = operation({
  id: 'listTriggers',
  method: 'GET',
  path: '/v1/agents/{agent_id}/triggers',
  summary: 'List triggers',
  description:
    "Lists the agent's triggers with their URLs. Requires `write`, because a URL can be enough to start runs.",
  access: { permission: 'write' },
  input: {
    params: AgentParams,
    query: listQuery(['created_at', 'updated_at', 'name', 'id'], {
      enabled: z.enum(['true', 'false']).optional().describe('`false`: only disabled triggers'),
    }),
  },
  answer: { list: TriggerReply },

  async run({ params, query: { enabled, ...page } }, context: Needs<'config' | 'db' | 'keyring'>) {
    const { db } = context
    const agent = await agents.get(db, params.agent_id)
    const which = { agent_id: agent.id, enabled: enabled === undefined ? undefined : enabled === 'true' }
    const { items, total } = await triggers.list(db, page, which)
    return { items: await presentAll(db, items, context), total }
  },
})
