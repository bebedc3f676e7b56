import { z } from 'zod'
import { operation } from '../operation.ts'
import { AgentParams } from './agent.ts'
import * as agents from './store.ts'

export const deleteAgent = operation({
  id: 'deleteAgent',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}',
  summary: 'Delete an agent',
  description:
    'Cancels what runs, then removes the agent with its deployments, memory, logs, webhooks and scoped keys.',
  permission: 'delete',
  params: AgentParams,
  data: z.object({ id: z.string(), deleted: z.literal(true) }),

  async run({ params }, { db }) {
    await agents.get(db, params.agent_id)
    await agents.remove(db, params.agent_id)
    return { id: params.agent_id, deleted: true as const }
  },
})
