import { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { requireUser } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { SummaryParams, SummaryQuery } from './summary.ts'
import { removeSummary } from './summary-store.ts'

export const deleteSummary = operation({
  id: 'deleteSummary',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/sessions/{session_id}/summary',
  summary: "Delete a session's summary",
  description:
    "The session's turns are kept. If the agent keeps summaries, its model writes a new one from the first turn on.",
  access: { permission: 'delete', userTokens: true },
  mfa: { policy: 'clear_memory' },
  audit: { target: 'session_id' },
  input: { params: SummaryParams, query: SummaryQuery },
  answer: { data: z.object({ session_id: z.string(), deleted: z.literal(true) }) },

  async run({ params: { agent_id, session_id }, query }, { db, actor }) {
    const { seq: agent_seq } = await agents.get(db, agent_id)
    await removeSummary(db, { agent_seq, user_id: requireUser(actor, query.user_id) ?? null, session_id })
    return { session_id, deleted: true as const }
  },
})
