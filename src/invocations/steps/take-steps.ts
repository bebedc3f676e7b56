import { z } from 'zod'
import { conflict, unavailable } from '../../errors.ts'
import { requireRun } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { AskedSteps, DoneStep } from '../../runtime/remote-agent/asked-step.ts'
import { OtherStep, type StepsReply } from '../../runtime/remote-agent/remote-conversation.ts'
import { InvocationParams } from '../invocation.ts'

export const AskSteps = z.strictObject({ steps: AskedSteps }).meta({ id: 'AskSteps' })

export const StepsResult = z
  .object({
    status: z.enum(['done', 'waiting']).describe('`waiting`: end this call; the agent is called again when it goes on'),
    steps: z.array(DoneStep).describe('What came of them, in the order in which they were asked for'),
  })
  .meta({ id: 'StepsResult' })

export const takeSteps = operation({
  id: 'takeSteps',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/steps',
  summary: 'Ask for steps',
  description:
    'For remote agents, with the token of their call: the service calls tools, asks models, people and memory, keeps values, and stores each result under its id. Steps of one request are done side by side.',
  permission: null,
  ofRuns: true,
  isLimitedByRun: true,
  userTokens: true,
  transaction: false,
  // The receipt of the run has its steps.
  audit: { target: 'request_id', when: () => false },
  errors: ['conflict'],
  params: InvocationParams,
  body: AskSteps,
  data: StepsResult,

  async run({ params, body }, { actor, runtime, stepsElsewhere }: Needs<'actor' | 'runtime' | 'stepsElsewhere'>) {
    const { request_id, attempt } = requireRun(actor, params.request_id)
    const reply = await here(() => runtime.takeSteps(request_id, attempt, body.steps), request_id)
    return presented(reply ?? (await stepsElsewhere.ask({ request_id, attempt, steps: body.steps })))
  },
})

async function here(take: () => Promise<StepsReply> | undefined, request_id: string): Promise<StepsReply | undefined> {
  try {
    return await take()
  } catch (error) {
    if (error instanceof OtherStep) throw conflict(`Invocation ${request_id}: ${error.message}`)
    throw error
  }
}

function presented(reply: StepsReply | { status: 'other'; message: string } | undefined): z.input<typeof StepsResult> {
  if (!reply) throw unavailable('The run could not be reached, try again shortly')
  if (reply.status === 'other') throw conflict(reply.message)
  if (reply.status === 'over') throw conflict('This call of the agent is over')
  return reply.status === 'done' ? reply : { status: 'waiting', steps: [] }
}
