import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { AgentSummary } from './agent.ts'
import * as agents from './store.ts'

export const listAgents = operation({
  id: 'listAgents',
  method: 'GET',
  path: '/v1/agents',
  summary: 'List agents',
  description: 'A key that is limited to one agent sees that agent only.',
  permission: 'read',
  userTokens: true,
  query: listQuery(['created_at', 'updated_at', 'name', 'status', 'id'], {}),
  list: AgentSummary,

  run({ query }, { db, actor }) {
    return agents.list(db, query, actor.scope.agent_id)
  },
})
