import * as agents from '../../agents/store.ts'
import { notFound } from '../../errors.ts'
import { requireUser } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { ReplaceSummaryBody, SessionSummary, SummaryParams, SummaryQuery } from './summary.ts'
import { findSummary, lastSeqOf, lockSession, putSummary } from './summary-store.ts'

export const replaceSummary = operation({
  id: 'replaceSummary',
  method: 'PUT',
  path: '/v1/agents/{agent_id}/sessions/{session_id}/summary',
  summary: "Replace a session's summary",
  description:
    'If the agent keeps summaries, the model sees this text from the next message on. The text replaces the summary of everything said so far. The model adds later turns to it.',
  access: { permission: 'write', userTokens: true },
  audit: { target: 'session_id' },
  input: { params: SummaryParams, query: SummaryQuery, body: ReplaceSummaryBody },
  answer: { data: SessionSummary },

  async run({ params: { agent_id, session_id }, query, body: { content } }, { db, actor, now }) {
    const { seq: agent_seq } = await agents.get(db, agent_id)
    const session = { agent_seq, user_id: requireUser(actor, query.user_id) ?? null, session_id }
    const held = await lockSession(db, session)
    if (!held) throw notFound('Session', session_id)
    const { tokens_used = 0 } = (await findSummary(db, session)) ?? {}
    const shown = { content, turns: held.turns, model: null, tokens_used, updated_at: now() }
    await putSummary(db, session, { ...shown, through_seq: await lastSeqOf(db, session) })
    return { ...shown, session_id, user_id: session.user_id }
  },
})
