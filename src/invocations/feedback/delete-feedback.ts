import { z } from 'zod'
import { notFound } from '../../errors.ts'
import { operation } from '../../operation.ts'
import { InvocationParams } from '../invocation.ts'
import { DeleteFeedbackQuery } from './feedback.ts'
import { ratedRun } from './feedback-of-run.ts'
import { remove } from './feedback-store.ts'

export const deleteFeedback = operation({
  id: 'deleteFeedback',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/feedback',
  summary: 'Delete feedback',
  description: 'Deletes the feedback with one key, including its score.',
  access: { permission: 'invoke', userTokens: true },
  audit: { target: 'request_id' },
  input: { params: InvocationParams, query: DeleteFeedbackQuery },
  answer: { data: z.object({ request_id: z.string(), key: z.string(), deleted: z.literal(true) }) },

  async run({ params, query: { key } }, { actor, db }) {
    const { run } = await ratedRun(params, { actor, db })
    if (!(await remove(db, run.id, key))) throw notFound('Feedback', key)
    return { request_id: run.id, key, deleted: true as const }
  },
})
