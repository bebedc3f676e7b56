import * as agents from '../agents/store.ts'
import { invalid } from '../errors.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { type Memory, MemoryParams, MemoryReply, UpdateMemoryBody } from './memory.ts'
import * as memories from './store.ts'

export const updateMemory = operation({
  id: 'updateMemory',
  method: 'PATCH',
  path: '/v1/agents/{agent_id}/memory/{memory_id}',
  summary: 'Update a memory',
  description:
    "Changes only the fields you send; `metadata` is replaced as a whole. Search then uses the new content. The memory's user and session can't change.",
  access: { permission: 'write', userTokens: true },
  audit: { target: 'memory_id' },
  idempotent: true,
  input: { params: MemoryParams, body: UpdateMemoryBody },
  answer: { data: MemoryReply },

  async run({ params, body }, { db, actor, request_id }) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    const scope = { agent_seq, user_id: requireUser(actor, undefined) }
    const { seq, memory } = await memories.lock(db, scope, params.memory_id)
    const updated: Memory = {
      ...memory,
      content: body.content ?? memory.content,
      kind: body.kind ?? memory.kind,
      role: body.role === undefined ? memory.role : body.role,
      metadata: body.metadata ?? memory.metadata,
      created_at: body.created_at ?? memory.created_at,
    }
    if (updated.kind === 'turn' && updated.role === null) {
      throw invalid({ field: 'role', error: 'is required for a turn' })
    }
    await memories.update(db, agent_seq, { seq, memory: updated }, `~${request_id}`)
    return updated
  },
})
