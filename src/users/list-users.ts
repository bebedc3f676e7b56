import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { listUsers as listRemembered } from '../memory/warm/scope-lists.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { AgentUser } from './user.ts'

export const listUsers = operation({
  id: 'listUsers',
  method: 'GET',
  path: '/v1/agents/{agent_id}/users',
  summary: 'List users',
  description:
    'Lists the users the agent has memories of, most recent first, with the number of their turns and notes and the time of the newest.',
  access: { permission: 'read', userTokens: true },
  input: { params: AgentParams, query: listQuery(['last_used_at', 'user_id'], {}, '-last_used_at') },
  answer: { list: AgentUser },

  async run({ params, query }, { db, actor }) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    return listRemembered(db, { agent_seq, user_id: requireUser(actor, undefined) }, query)
  },
})
