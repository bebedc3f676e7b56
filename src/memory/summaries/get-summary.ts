import * as agents from '../../agents/store.ts'
import { notFound } from '../../errors.ts'
import { requireUser } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { SessionSummary, SummaryParams, SummaryQuery } from './summary.ts'
import { findSummary } from './summary-store.ts'

export const getSummary = operation({
  id: 'getSummary',
  method: 'GET',
  path: '/v1/agents/{agent_id}/sessions/{session_id}/summary',
  summary: "Get a session's summary",
  description:
    'Returns the summary of turns that no longer fit in the session history. The model sees it if the agent keeps summaries.',
  access: { permission: 'read', userTokens: true },
  input: { params: SummaryParams, query: SummaryQuery },
  answer: { data: SessionSummary },

  async run({ params: { agent_id, session_id }, query }, { db, actor }) {
    const { seq: agent_seq } = await agents.get(db, agent_id)
    const user_id = requireUser(actor, query.user_id) ?? null
    const summary = await findSummary(db, { agent_seq, user_id, session_id })
    if (!summary) throw notFound('Summary of the session', session_id)
    return summary
  },
})
