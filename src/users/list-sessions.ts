import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { listSessions as listRemembered } from '../memory/warm/scope-lists.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { Label, listQuery } from '../shapes.ts'
import { AgentSession } from './user.ts'

export const listSessions = operation({
  id: 'listSessions',
  method: 'GET',
  path: '/v1/agents/{agent_id}/sessions',
  summary: 'List sessions',
  description: "Lists the conversations in the agent's memory, of all users or of one, most recent first.",
  access: { permission: 'read', userTokens: true },
  input: {
    params: AgentParams,
    query: listQuery(['last_used_at', 'session_id'], { user_id: Label(256).optional() }, '-last_used_at'),
  },
  answer: { list: AgentSession },

  async run({ params, query: { user_id, ...page } }, { db, actor }) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    return listRemembered(db, { agent_seq, user_id: requireUser(actor, user_id) }, page)
  },
})
