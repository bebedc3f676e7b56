import { z } from 'zod'
import { type ApiError, conflict, unavailable } from '../../errors.ts'
import { requireRun } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { AskedSteps, DoneStep } from '../../runtime/remote-agent/asked-step.ts'
import { OtherStep, type StepsReply } from '../../runtime/remote-agent/remote-conversation.ts'
import { InvocationParams } from '../invocation.ts'
import { isUnderWay } from './run-under-way.ts'

export const AskSteps = z.strictObject({ steps: AskedSteps }).meta({ id: 'AskSteps' })

export const StepsResult = z
  .object({
    status: z
      .enum(['done', 'waiting'])
      .describe('`waiting`: end this call; the agent is called again when the run continues'),
    steps: z.array(DoneStep).describe('The results, in the order of the request'),
  })
  .meta({ id: 'StepsResult' })

export const takeSteps = operation({
  id: 'takeSteps',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/steps',
  summary: 'Run steps (remote agents)',
  description:
    "Remote agents use this endpoint with their call's token to call tools, models and memory, ask people, and store values. Each result is stored under the step's ID. The steps of one request run in parallel. If the `status` is `done`, the reply contains the results. If it's `waiting`, the call ends, and the agent is called again when the run resumes. If the call has already ended, the request fails with 409.",
  access: { permission: null, userTokens: true, ofRuns: true, isLimitedByRun: true },
  // The run's receipt shows its steps.
  audit: { target: 'request_id', when: () => false },
  transaction: false,
  input: { params: InvocationParams, body: AskSteps },
  answer: { data: StepsResult, errors: ['conflict'] },

  async run({ params, body: { steps } }, parts: TakeNeeds) {
    const run = requireRun(parts.actor, params.request_id)
    const { request_id, attempt } = run
    const { runtime, stepsElsewhere, now, stopping } = parts
    const latest = now() + FOUND_WITHIN_MS
    while (await isUnderWay(run, parts)) {
      const reply = await here(() => runtime.takeSteps(request_id, attempt, steps), request_id)
      const told = reply ?? (await stepsElsewhere.ask({ request_id, attempt, steps }))
      if (told && told.status !== 'not found') return presented(told)
      if (!told || now() >= latest || stopping.aborted)
        throw unavailable("The run can't be reached. Try again shortly.")
    }
    throw over()
  },
})

type TakeNeeds = Needs<'actor' | 'now' | 'runtime' | 'stepsElsewhere' | 'stopping' | 'storage'>

/** How long to look for the run. If its node hangs, another node takes it over within this time, as another attempt. */
const FOUND_WITHIN_MS = 30_000

function over(): ApiError {
  return conflict('This call to the agent has ended.')
}

async function here(take: () => Promise<StepsReply> | undefined, request_id: string): Promise<StepsReply | undefined> {
  try {
    return await take()
  } catch (error) {
    if (error instanceof OtherStep) throw conflict(`Invocation ${request_id}: ${error.message}`)
    throw error
  }
}

function presented(reply: StepsReply | { status: 'other'; message: string }): z.input<typeof StepsResult> {
  if (reply.status === 'other') throw conflict(reply.message)
  if (reply.status === 'over') throw over()
  return reply.status === 'done' ? reply : { status: 'waiting', steps: [] }
}
