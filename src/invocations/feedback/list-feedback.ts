import { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { withKeyNames } from '../../keys/key-names.ts'
import { requireUser } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { Label, listQuery, TimeInput } from '../../shapes.ts'
import { starterFor } from '../invocation-in-scope.ts'
import { FeedbackKey, FeedbackReply, Score } from './feedback.ts'
import { findFeedback } from './feedback-store.ts'

export const listFeedback = operation({
  id: 'listFeedback',
  method: 'GET',
  path: '/v1/feedback',
  summary: 'List feedback',
  description:
    'Lists the feedback of all agents that the key has access to. With only the permission `invoke`, the list contains the feedback of invocations that the key started itself.',
  access: {
    permission: 'read',
    ownPermission: 'invoke',
    userTokens: true,
    concerns: async ({ query }) => query.agent_id ?? null,
  },
  input: {
    query: listQuery(['created_at', 'updated_at', 'score', 'id'], {
      agent_id: z.string().optional().describe('Agent ID or name'),
      request_id: z.string().max(256).optional(),
      environment: Label(32).optional(),
      version: Label(64).optional(),
      deployment_id: z.string().max(256).optional(),
      key: FeedbackKey.optional(),
      user_id: Label(256).optional(),
      session_id: Label(256).optional(),
      score_below: Score.optional().describe('Only scores lower than this'),
      score_above: Score.optional().describe('Only scores higher than this'),
      commented: z
        .enum(['true', 'false'])
        .optional()
        .describe('`true`: only with a comment. `false`: only without one'),
      start_time: TimeInput.optional().describe('First given at this time or later'),
      end_time: TimeInput.optional().describe('First given before this time'),
    }),
  },
  answer: { list: FeedbackReply },

  async run({ query }, { db, actor, shownAgents }) {
    const { limit, offset, sort, agent_id: ref, user_id, commented, ...filter } = query
    const shown = await agents.listShown(db, await shownAgents())
    const wanted = ref === undefined ? undefined : await agents.findIn(db, actor.scope.project_id, ref)
    const among = ref === undefined ? shown : shown.filter(({ id }) => id === wanted?.id)
    const whose = { user_id: requireUser(actor, user_id), started_by: starterFor(actor, 'read') }
    const has = { commented: commented === undefined ? undefined : commented === 'true' }
    const { items, total } = await findFeedback(db, among, { limit, offset, sort }, { ...filter, ...whose, ...has })
    return { items: await withKeyNames(db, actor, items, ['created_by']), total }
  },
})
