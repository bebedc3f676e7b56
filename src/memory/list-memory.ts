import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { listQuery, TimeInput } from '../shapes.ts'
import { MemoryContext, MemoryKind, MemoryReply } from './memory.ts'
import { findMemories } from './search/find-memories.ts'

export const listMemory = operation({
  id: 'listMemory',
  method: 'GET',
  path: '/v1/agents/{agent_id}/memory',
  summary: 'List memories',
  description: "Lists the agent's memories, newest first. Filter by user, session, kind or time.",
  access: { permission: 'read', userTokens: true },
  input: {
    params: AgentParams,
    query: listQuery(['created_at', 'id'], {
      ...MemoryContext.shape,
      kind: MemoryKind.optional(),
      before: TimeInput.optional().describe('Only memories older than this'),
      after: TimeInput.optional().describe('Only memories newer than this'),
    }),
  },
  answer: { list: MemoryReply },

  async run({ params, query }, { db, actor }) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    const { user_id, session_id, kind, before, after, ...page } = query
    const scope = { agent_seq, user_id: requireUser(actor, user_id), session_id }
    return findMemories(db, scope, page, { kind, before, after })
  },
})
