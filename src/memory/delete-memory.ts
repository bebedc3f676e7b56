import { z } from 'zod'
import * as agents from '../agents/store.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { MemoryParams } from './memory.ts'
import * as memories from './store.ts'

export const deleteMemory = operation({
  id: 'deleteMemory',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/memory/{memory_id}',
  summary: 'Delete a memory',
  description: 'Search and recall no longer return the memory.',
  access: { permission: 'delete', userTokens: true },
  mfa: { policy: 'clear_memory' },
  audit: { target: 'memory_id' },
  input: { params: MemoryParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db, actor }) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    const scope = { agent_seq, user_id: requireUser(actor, undefined) }
    const { seq, memory } = await memories.lock(db, scope, params.memory_id)
    await memories.remove(db, [seq])
    return { id: memory.id, deleted: true as const }
  },
})
