import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import type { Needs } from '../operation/context.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { FoundMemory, SearchMemoryBody } from './memory.ts'

export const searchMemory = operation({
  id: 'searchMemory',
  method: 'POST',
  path: '/v1/agents/{agent_id}/memory/search',
  summary: 'Search memory',
  description:
    'Best first. `context` limits the search to one user, one session or both; without it everything the agent remembers is searched.',
  permission: 'read',
  userTokens: true,
  idempotent: true,
  transaction: false,
  params: AgentParams,
  body: SearchMemoryBody,
  list: FoundMemory,

  async run({ params, body }, { db, actor, recall }: Needs<'db' | 'actor' | 'recall'>) {
    const { seq: agent_seq } = await agents.get(db, params.agent_id)
    const { query, context, limit, offset, min_score } = body
    const scope = { agent_seq, ...context, user_id: requireUser(actor, context.user_id) }
    return recall.search(scope, query, { limit, offset, min_score })
  },
})
