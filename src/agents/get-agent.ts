import { operation } from '../operation.ts'
import { AgentParams, AgentReply, presentAgent } from './agent.ts'
import * as agents from './store.ts'

export const getAgent = operation({
  id: 'getAgent',
  method: 'GET',
  path: '/v1/agents/{agent_id}',
  summary: 'Get an agent',
  permission: 'read',
  userTokens: true,
  params: AgentParams,
  data: AgentReply,

  async run({ params }, { db, keyring }) {
    return presentAgent(await agents.get(db, params.agent_id), keyring)
  },
})
