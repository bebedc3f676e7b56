import { AgentParams } from '../agents/agent.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { LinkReply } from './chat-link.ts'
import { type PresentNeeds, presentLinks } from './present-link.ts'
import * as links from './store.ts'

export const listLinks = operation({
  id: 'listLinks',
  method: 'GET',
  path: '/v1/agents/{agent_id}/links',
  summary: 'List links',
  description: "Lists the agent's links with their limits and how much of them was used.",
  access: { permission: 'read' },
  input: { params: AgentParams, query: listQuery(['created_at', 'expires_at', 'name', 'id'], {}) },
  answer: { list: LinkReply },

  async run({ params, query }, context: PresentNeeds) {
    const { items, total } = await links.list(context.db, query, params.agent_id)
    return { items: await presentLinks(items, context), total }
  },
})
