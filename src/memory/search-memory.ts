import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import type { Needs } from '../operation/context.ts'
import { requireUser } from '../operation/scope.ts'
import { keyNamed, spenderOf } from '../operation/spending.ts'
import { operation } from '../operation.ts'
import { FoundMemory, SearchMemoryBody } from './memory.ts'

type SearchNeeds = Needs<'actor' | 'db' | 'door' | 'recall' | 'request_id' | 'spending'>

export const searchMemory = operation({
  id: 'searchMemory',
  method: 'POST',
  path: '/v1/agents/{agent_id}/memory/search',
  summary: 'Search memory',
  description:
    "Returns the best matches first. `context` limits the search to one user, one session or both. Without it, all of the agent's memories are searched.",
  access: { permission: 'read', userTokens: true },
  idempotent: true,
  transaction: false,
  input: { params: AgentParams, body: SearchMemoryBody },
  answer: { list: FoundMemory },

  async run({ params, body }, context: SearchNeeds) {
    const { db, actor, recall, spending, request_id, door } = context
    const { seq: agent_seq, project_id } = await agents.get(db, params.agent_id)
    const { query, limit, offset, min_score } = body
    const user_id = requireUser(actor, body.context.user_id)
    const by = { key_id: keyNamed(actor.id), person_id: actor.person_id ?? null, user_id: user_id ?? null }
    const asked = { project_id, agent_seq, agent_id: params.agent_id, request_id, door, purpose: 'search' as const }
    const meter = spending.meter(spenderOf({ ...asked, ...by }))
    const found = await recall.search(
      { agent_seq, ...body.context, user_id },
      query,
      { limit, offset, min_score },
      meter,
    )
    await meter.flush()
    return found
  },
})
