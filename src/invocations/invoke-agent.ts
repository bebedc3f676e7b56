import { type Agent, AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { serving } from '../deployments/serving.ts'
import { ApiError, notFound } from '../errors.ts'
import { Accepted, operation, requireUser } from '../operation.ts'
import { jobWrite } from '../storage/jobs.ts'
import {
  type Invocation,
  InvocationResult,
  InvokeBody,
  QueuedReply,
  replayEvents,
  resultOf,
  startEvent,
} from './invocation.ts'
import { runInvocation } from './run-invocation.ts'
import * as invocations from './store.ts'

/** The kind of the job that runs a queued invocation. */
export const INVOCATION_JOB = 'invocation'

export const invokeAgent = operation({
  id: 'invokeAgent',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invoke',
  summary: 'Invoke an agent',
  description:
    'Answers when the agent has answered and everything it left is on disk. `Accept: text/event-stream` streams the answer; `Prefer: respond-async` answers 202 at once and runs in the background. With an Idempotency-Key the run goes on when the client hangs up, and a retry gets its result.',
  permission: 'write',
  idempotent: true,
  transaction: false,
  audit: false,
  errors: ['agent_paused', 'conflict', 'timeout'],
  params: AgentParams,
  body: InvokeBody,
  data: InvocationResult,
  accepted: QueuedReply,
  streams: { replay: replayEvents },

  async run({ params, body }, context) {
    const { actor, live, memo, mode, newId, node, now, request_id, storage } = context
    const agent = await memo('agents', params.agent_id, () => agents.find(storage.db, params.agent_id))
    if (!agent) throw notFound('Agent', params.agent_id)
    const user_id = requireUser(actor, body.context.user_id)
    requireOpen(agent, live.count(agent.id))
    const served = await serving(agent, body.environment, context)

    const time = now()
    const invocation: Invocation = {
      id: request_id,
      agent_seq: agent.seq,
      status: mode === 'background' ? 'queued' : 'running',
      background: mode === 'background',
      environment: body.environment,
      version: served.version,
      deployment_id: served.deployment_id,
      message: body.message,
      context: user_id === undefined ? body.context : { ...body.context, user_id },
      response: null,
      error: null,
      input_tokens: 0,
      output_tokens: 0,
      tokens_used: 0,
      steps: [],
      duration_ms: null,
      created_by: actor.id,
      created_at: time,
      started_at: mode === 'background' ? null : time,
      finished_at: null,
    }
    if (mode === 'background') {
      const reply = new Accepted({ request_id, status: 'queued' }, `/v1/agents/${agent.id}/invocations/${request_id}`)
      const payload = { agent_id: agent.id, request_id }
      const job = jobWrite({ id: newId('job', time), kind: INVOCATION_JOB, payload, run_at: time })
      await context.commit({ writes: [invocations.insertion(invocation), job] }, reply)
      return reply
    }

    const run = live.start(request_id, agent.id)
    context.onHangUp?.(run.cancel)
    const { emit } = context
    const unfollow = emit && run.follow(undefined, emit)
    try {
      emit?.(startEvent(request_id))
      const started = {
        invocation,
        agent,
        definition: served.definition,
        run,
        owner: node,
        stored: false,
        streaming: emit !== undefined,
      }
      const ended = await runInvocation(started, context)
      const completed = ended.invocation.status === 'completed'
      const kept = await context.commit(ended.entry, completed ? resultOf(ended.invocation) : undefined)
      if (!kept) throw new ApiError('conflict', 'The invocation was ended by another node')
      if (!completed) throw failureOf(ended.invocation, agent)
      return resultOf(ended.invocation)
    } finally {
      unfollow?.()
      run.end()
    }
  },
})

function requireOpen({ name, status, limits }: Agent, running: number): void {
  if (status === 'paused') throw new ApiError('agent_paused', `Agent "${name}" is paused`)
  if (limits.max_concurrency !== null && running >= limits.max_concurrency) {
    throw new ApiError('rate_limited', `Agent "${name}" runs ${running} invocations already`, { retry_after: 1 })
  }
}

function failureOf({ error, duration_ms }: Invocation, { name }: Agent): ApiError {
  if (error?.code === 'timeout')
    return new ApiError('timeout', `Agent "${name}" did not answer within ${duration_ms} ms`)
  if (error?.code === 'conflict') return new ApiError('conflict', error.message)
  return new ApiError('server_error', 'Internal server error')
}
