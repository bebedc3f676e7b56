import { notFound } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
import { KnownAnswer } from '../operation/known-answer.ts'
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

  async run({ params: { agent_id } }, { keyring, memo, storage }: Needs<'keyring' | 'memo' | 'storage'>) {
    const show = async () => {
      const agent = await agents.findKnown(agent_id, { memo, storage })
      return agent && new KnownAnswer(presentAgent(agent, keyring))
    }
    const shown = await memo('agents', `#shown ${agent_id}`, show, () => [agent_id])
    if (!shown) throw notFound('Agent', agent_id)
    return shown
  },
})
