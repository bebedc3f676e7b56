import { z } from 'zod'
import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import type { Needs } from '../operation/context.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { TimeInput } from '../shapes.ts'
import { MemoryContext } from './memory.ts'
import * as memories from './store.ts'

/** Between two batches others can write. */
const BATCH_SIZE = 500

export const clearMemory = operation({
  id: 'clearMemory',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/memory',
  summary: 'Clear memory',
  description:
    'Forgets what the agent remembered until now: all of it, or what one user, one session or the time before a moment has. If it is interrupted, send it again.',
  permission: 'delete',
  audit: { target: 'agent_id' },
  userTokens: true,
  mfa: 'clear_memory',
  transaction: false,
  params: AgentParams,
  query: MemoryContext.extend({ before: TimeInput.optional().describe('Only what is older') }),
  data: z.object({ deleted: z.int() }),

  async run({ params, query }, { db, actor, storage }: Needs<'db' | 'actor' | 'storage'>) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    const { before, ...context } = { ...query, user_id: requireUser(actor, query.user_id) }
    const which = { scope: { agent_seq, ...context }, before, through: await memories.newestSeq(db) }
    let deleted = 0
    for (;;) {
      const seqs = await memories.listSeqs(db, which, BATCH_SIZE)
      if (seqs.length === 0) return { deleted }
      deleted += await storage.transaction((transaction) => memories.remove(transaction, seqs))
    }
  },
})
