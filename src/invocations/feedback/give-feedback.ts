import { conflict } from '../../errors.ts'
import { withKeyName } from '../../keys/key-names.ts'
import { operation } from '../../operation.ts'
import type { Span } from '../../telemetry/tracing.ts'
import { InvocationParams, isFinal } from '../invocation.ts'
import { type Feedback, FeedbackReply, GiveFeedbackBody } from './feedback.ts'
import { ratedRun } from './feedback-of-run.ts'
import { countOthers, holdReceipt, put } from './feedback-store.ts'

const MOST_OF_A_RUN = 10

export const giveFeedback = operation({
  id: 'giveFeedback',
  method: 'PUT',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/feedback',
  summary: 'Give feedback',
  description:
    "Rates the answer of an invocation that has ended. An invocation has one feedback for each `key`; giving it again replaces the score and the comment. With only the permission `invoke`, a key can rate the invocations that it started itself, and a user token can rate those of its user. An invocation can have feedback with up to 10 keys. If it's still running or was erased, the request fails with 409.",
  access: { permission: 'invoke', userTokens: true },
  audit: { target: 'request_id' },
  input: { params: InvocationParams, body: GiveFeedbackBody },
  answer: { data: FeedbackReply, errors: ['conflict'] },

  async run({ params, body }, { actor, db, events, newId, now, span }) {
    const { agent, run } = await ratedRun(params, { actor, db })
    const { id: request_id } = run
    if (!isFinal(run)) throw conflict("The invocation hasn't ended yet. Give feedback when it has answered.")
    await holdReceipt(db, request_id)
    if ((await countOthers(db, request_id, body.key)) >= MOST_OF_A_RUN) {
      throw conflict(`An invocation can have feedback with at most ${MOST_OF_A_RUN} keys.`)
    }
    const time = now()
    const given = await put(db, { ...body, id: newId('fbk', time), request_id, created_by: actor.id, time })
    if (!given) throw conflict("The invocation was erased, so it can't have feedback.")
    const { id: agent_id, project_id } = agent
    const data = () => toldFeedback(given)
    await events.emit(db, { type: 'feedback.given', project_id, agent_id, request_id, data, time })
    span?.event('gen_ai.evaluation.result', evaluation(given, agent.id, span))
    return withKeyName(db, actor, { ...given, agent_id }, ['created_by'])
  },
})

function toldFeedback({ id, request_id, key, score, comment, user_id, session_id, ...of }: Feedback) {
  const { environment, version, deployment_id } = of
  const context = { user_id, session_id }
  return { feedback_id: id, request_id, key, score, comment, environment, version, deployment_id, context }
}

/** The feedback as attributes of OpenTelemetry's conventions for generative AI. */
function evaluation({ key, score, comment, request_id, version }: Feedback, agent_id: string, span: Span) {
  return {
    'gen_ai.evaluation.name': key,
    'gen_ai.evaluation.score.value': score,
    'gen_ai.evaluation.score.label': score > 0 ? 'positive' : score < 0 ? 'negative' : 'neutral',
    ...(span.showsContent && comment !== null && { 'gen_ai.evaluation.explanation': comment }),
    'gen_ai.agent.id': agent_id,
    ...(version !== null && { 'gen_ai.agent.version': version }),
    'moorage.request_id': request_id,
  }
}
