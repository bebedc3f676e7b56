import { z } from 'zod'
import { operation } from '../operation.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import { AgentParams } from './agent.ts'
import * as agents from './store.ts'

export const deleteAgent = operation({
  id: 'deleteAgent',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}',
  summary: 'Delete an agent',
  description:
    "Cancels the agent's active runs, then deletes the agent with its deployments, memory, logs, webhooks and the keys limited to it.",
  access: { permission: 'delete', userTokens: true },
  audit: { target: 'agent_id' },
  input: { params: AgentParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db, newId, now }) {
    await agents.lock(db, params.agent_id)
    await agents.remove(db, params.agent_id)
    // Its logs, metrics and memory can no longer be reached. There may be many, so they are removed in the background.
    await enqueue(db, { id: newId('job', now()), kind: 'purge', run_at: now() })
    return { id: params.agent_id, deleted: true as const }
  },
})
