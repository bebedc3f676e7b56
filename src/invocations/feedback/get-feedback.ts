import { withKeyNames } from '../../keys/key-names.ts'
import { operation } from '../../operation.ts'
import { listQuery } from '../../shapes.ts'
import { InvocationParams } from '../invocation.ts'
import { FeedbackReply } from './feedback.ts'
import { ratedRun } from './feedback-of-run.ts'
import { listOfRuns } from './feedback-store.ts'

export const getFeedback = operation({
  id: 'getFeedback',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/feedback',
  summary: "Get an invocation's feedback",
  description: 'Lists the feedback that an invocation has, one item for each key.',
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: { params: InvocationParams, query: listQuery(['created_at'], {}) },
  answer: { list: FeedbackReply },

  async run({ params, query: { limit, offset, sort } }, { actor, db }) {
    const { agent, run } = await ratedRun(params, { actor, db })
    const oldestFirst = await listOfRuns(db, [run.id])
    const all = sort === 'created_at' ? oldestFirst : oldestFirst.toReversed()
    const items = all.slice(offset, offset + limit).map((feedback) => ({ ...feedback, agent_id: agent.id }))
    return { items: await withKeyNames(db, actor, items, ['created_by']), total: all.length }
  },
})
