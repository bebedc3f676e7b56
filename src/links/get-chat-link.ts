import { operation } from '../operation.ts'
import { LinkParams, LinkReply } from './chat-link.ts'
import { type PresentNeeds, presentLink } from './present-link.ts'
import * as links from './store.ts'

export const getLink = operation({
  id: 'getLink',
  method: 'GET',
  path: '/v1/agents/{agent_id}/links/{link_id}',
  summary: 'Get a link',
  description: 'Returns the link, with its limits and how much of them was used.',
  access: { permission: 'read' },
  input: { params: LinkParams },
  answer: { data: LinkReply },

  async run({ params }, context: PresentNeeds) {
    return presentLink(await links.get(context.db, params.agent_id, params.link_id), context)
  },
})
