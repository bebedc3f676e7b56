import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { AgentSummary } from './agent.ts'
import * as agents from './store.ts'

export const listAgents = operation({
  id: 'listAgents',
  method: 'GET',
  path: '/v1/agents',
  summary: 'List agents',
  description:
    'A key that is limited to one agent sees that agent only; agents whose own `security` the request does not pass are left out.',
  permission: 'read',
  userTokens: true,
  query: listQuery(['created_at', 'updated_at', 'name', 'status', 'id'], {}),
  list: AgentSummary,

  async run({ query }, { db, shownAgents }) {
    return agents.list(db, query, await shownAgents())
  },
})
