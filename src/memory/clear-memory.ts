import { z } from 'zod'
import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { TimeInput } from '../shapes.ts'
import { MemoryContext } from './memory.ts'
import * as memories from './store.ts'

export const clearMemory = operation({
  id: 'clearMemory',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/memory',
  summary: 'Clear memory',
  description:
    "Deletes the agent's memories up to now: all of them, or those of one user, of one session, or from before a given time. If the request is interrupted, send it again.",
  access: { permission: 'delete', userTokens: true },
  mfa: { policy: 'clear_memory' },
  audit: { target: 'agent_id' },
  transaction: false,
  input: {
    params: AgentParams,
    query: MemoryContext.extend({ before: TimeInput.optional().describe('Only memories older than this') }),
  },
  answer: { data: z.object({ deleted: z.int() }) },

  async run({ params, query }, { db, actor, storage }) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    const { before, ...context } = { ...query, user_id: requireUser(actor, query.user_id) }
    return { deleted: await memories.clear(storage, { agent_seq, ...context }, before) }
  },
})
