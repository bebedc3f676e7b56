import * as agents from '../agents/store.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { MemoryParams, MemoryReply } from './memory.ts'
import * as memories from './store.ts'

export const getMemory = operation({
  id: 'getMemory',
  method: 'GET',
  path: '/v1/agents/{agent_id}/memory/{memory_id}',
  summary: 'Get a memory',
  description: "Returns the memory's content, kind, owner and time.",
  access: { permission: 'read', userTokens: true },
  input: { params: MemoryParams },
  answer: { data: MemoryReply },

  async run({ params }, { db, actor }) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    const scope = { agent_seq, user_id: requireUser(actor, undefined) }
    return (await memories.get(db, scope, params.memory_id)).memory
  },
})
