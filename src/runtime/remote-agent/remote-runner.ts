import { hash } from 'node:crypto'
import { converse } from '../conversation/conversation.ts'
import type { Equipment } from '../conversation/equipment.ts'
import { AgentFailure } from '../outcome.ts'
import { guardedSockets, type Reach } from '../providers/provider-sockets.ts'
import { type RunInProgress, RunStopped, Waits } from '../run-in-progress.ts'
import type { RunAnswer, RunHost, Runner, RunRequest } from '../runner.ts'
import type { A2aRemote, SignedRemote } from '../spec.ts'
import { fillHeaders, SecretRefused, type SecretSource } from '../tools/fill-secrets.ts'
import type { Fetch } from '../tools/tool.ts'
import type { AskedStep } from './asked-step.ts'
import { type CallTime, callBody, type RunAddress } from './call-body.ts'
import { callHeaders, type SignCall } from './call-headers.ts'
import type { RemoteTrial, StepsOutcome } from './check/call-remote.ts'
import { type CheckedPoint, checkPoints } from './check/check-points.ts'
import { hostSteps, type RunMemory } from './host-steps.ts'
import { type CallAgent, RemoteConversation, type StepsReply } from './remote-conversation.ts'
import { exchange, SIGNING_SECRET } from './remote-exchange.ts'

export type RemoteRunnerOptions = {
  /** The guarded clients: one for replies that arrive in many small pieces, and one with the interface of `fetch`. */
  reach: Reach
  fetch: Fetch
  secrets: SecretSource
  now: () => number
  memory: RunMemory
  sign: SignCall
  /** Makes a signing secret that no agent uses. */
  newSecret(): string
  /** Where the agent requests the steps of this attempt and reads its files. */
  addressOf(run: RunAttempt & CallTime): RunAddress
}

type RunAttempt = Pick<RunRequest, 'project_id' | 'agent_id' | 'request_id' | 'attempt'>

/** Runs agents that are hosted elsewhere: their server gets the message, and can request steps while it answers. */
export class RemoteRunner implements Runner {
  readonly #options: RemoteRunnerOptions
  readonly #equipment: Equipment
  /** Who receives the steps of the active runs on this node, by request ID. */
  readonly #takers = new Map<string, StepsTaker>()

  constructor(equipment: Equipment, options: RemoteRunnerOptions) {
    this.#equipment = equipment
    this.#options = options
  }

  async run(request: RunRequest, host: RunHost): Promise<RunAnswer> {
    const { agent_id, tree, context, agent, served } = request
    const { memory } = this.#options
    const settings = agent.remote
    if (!settings) throw new AgentFailure('The agent has no URL.')
    // The call to the agent is the first effect outside the service, so the run must be stored before it.
    await request.stored
    const memory_of = tree ? tree.memory_of : agent_id
    const owner = { agent_id: memory_of, user_id: context.user_id, session_id: context.session_id }
    const run: RunInProgress = await this.#equipment.open(
      request,
      host,
      hostSteps({ memory, owner, agent_id, served, run: () => run }),
      settings,
    )
    try {
      return await this.#converse(settings, request, host, run)
    } finally {
      await run.toolbox.close?.()
    }
  }

  async #converse(
    settings: A2aRemote | SignedRemote,
    request: RunRequest,
    host: RunHost,
    run: RunInProgress,
  ): Promise<RunAnswer> {
    const { request_id, attempt } = request
    const take = (steps: readonly AskedStep[]) => conversation.take(steps)
    const way =
      'a2a' in settings ? await this.#openA2a(settings, request, run, take) : this.#openSigned(settings, request, run)
    const conversation: RemoteConversation = new RemoteConversation(run, (rounds, signal, hear) =>
      within(settings.timeout_ms, signal, (until) => way.call(rounds, until, hear)),
    )
    const close = this.#listen(request_id, { attempt, take })
    let left: 'over' | 'waiting' = 'over'
    let isOver = false
    try {
      if (host.deadline.stopped) throw new RunStopped()
      await converse(run, conversation.ask)
      return { status: 'completed' }
    } catch (error) {
      if (error instanceof Waits || host.deadline.stopped === 'paused') left = 'waiting'
      else isOver = isEnd(error, request, host)
      throw error
    } finally {
      conversation.leave(left)
      void way.leave?.(isOver)
      close()
    }
  }

  /** Passes on the steps that the agent requests. Undefined if this attempt of the run isn't active on this node. */
  takeSteps(request_id: string, attempt: number, steps: readonly AskedStep[]): Promise<StepsReply> | undefined {
    const taker = this.#takers.get(request_id)
    return taker?.attempt === attempt ? taker.take(steps) : undefined
  }

  /** Whether this attempt of a run is active on this node. */
  isTaking({ request_id, attempt }: Pick<RunAttempt, 'request_id' | 'attempt'>): boolean {
    return this.#takers.get(request_id)?.attempt === attempt
  }

  /** Checks the agent point by point, outside of any run. `trial.signal` cancels the check. */
  async *check(
    { project_id, agent_id, agent }: Pick<RunRequest, 'project_id' | 'agent_id' | 'agent'>,
    { message, timeout_ms: most_ms, signal }: { message: string; timeout_ms: number; signal: AbortSignal },
  ): AsyncGenerator<CheckedPoint> {
    const { fetch, reach, secrets, sign, newSecret, addressOf, now } = this.#options
    const settings = agent.remote
    if (!settings) throw new AgentFailure('The agent has no URL.')
    const timeout_ms = Math.min(settings.timeout_ms ?? most_ms, most_ms)
    if ('a2a' in settings) {
      const { checkA2a } = await import('./check/check-a2a.ts')
      const way = { fetch, owner: agent_id, secrets: await secrets(project_id), traceparent: undefined }
      return yield* checkA2a(settings, way, { signal, timeout_ms })
    }
    const { own: headers, secret } = await this.#secretsOf(settings, { project_id })
    const { instructions, model, temperature, output } = agent
    const trial: RemoteTrial = {
      url: settings.url,
      secret,
      wrongSecret: newSecret(),
      headers,
      told: { instructions, model, temperature, output: output && { schema: output.schema } },
      message,
      timeout_ms,
      host: {
        open: ({ request_id, attempt }, hearer) => {
          const until = Math.ceil(now() + timeout_ms)
          const called = { project_id, agent_id, request_id, attempt, until, file_ids: [] }
          const { url, token: steps_token } = addressOf(called)
          const take = async (steps: readonly AskedStep[]) => replyOf(await hearer.take([...steps]))
          return { steps_url: `${url}/steps`, steps_token, close: this.#listen(request_id, { attempt, take }) }
        },
      },
      openSockets: (origin) => guardedSockets(origin, reach, agent_id),
      sign,
      signal,
    }
    yield* checkPoints(trial)
  }

  /** Accepts steps of the run until it is closed. */
  #listen(request_id: string, taker: StepsTaker): () => void {
    this.#takers.set(request_id, taker)
    return () => {
      if (this.#takers.get(request_id) === taker) this.#takers.delete(request_id)
    }
  }

  /** Calls an agent that implements our own contract. */
  #openSigned(settings: SignedRemote, request: RunRequest, run: RunInProgress): WayToAgent {
    const { project_id, agent_id, request_id, attempt, span } = request
    const { url } = settings
    const { addressOf, reach, now, sign } = this.#options
    return {
      call: async (rounds, signal, hear) => {
        const attempted = { project_id, agent_id, request_id, attempt }
        const body = await callBody(run, rounds, (time) => addressOf({ ...attempted, ...time }))
        const { own, secret } = await this.#secretsOf(settings, request)
        const signing = { run: request, body, secret, own, now: now(), traceparent: span?.traceparent }
        const sockets = guardedSockets(new URL(url).origin, reach, agent_id)
        await exchange({ url, headers: callHeaders(signing, sign), body }, { sockets, signal, now }, hear)
      },
    }
  }

  /** Calls an agent over A2A. The A2A client is loaded for the first such agent, because most services have none. */
  async #openA2a(
    remote: A2aRemote,
    { project_id, agent_id, context, tree, span }: RunRequest,
    run: RunInProgress,
    take: RemoteConversation['take'],
  ): Promise<WayToAgent> {
    const { A2aExchange } = await import('./a2a/a2a-exchange.ts')
    const { fetch, secrets } = this.#options
    const known = await secrets(project_id)
    const memory_of = tree ? tree.memory_of : agent_id
    return new A2aExchange({
      remote,
      run,
      way: { fetch, owner: agent_id, secrets: known, log: run.log, traceparent: span?.traceparent },
      contextId: memory_of === null ? '' : contextOf(memory_of, context),
      take,
    })
  }

  /** The headers that the agent's definition names, and the secret that signs the call. */
  async #secretsOf({ url, headers, secret: name }: SignedRemote, { project_id }: Pick<RunRequest, 'project_id'>) {
    const named = { ...headers, [SIGNING]: `{{secret.${name}}}` }
    try {
      const known = await this.#options.secrets(project_id)
      const { [SIGNING]: secret = '', ...own } = fillHeaders(named, new URL(url), known)
      if (!SIGNING_SECRET.test(secret)) {
        throw new AgentFailure(`The secret ${name} must be whsec_ followed by at least 18 bytes in base64.`)
      }
      return { own, secret }
    } catch (error) {
      throw error instanceof SecretRefused ? new AgentFailure(error.message) : error
    }
  }
}

type StepsTaker = { attempt: number; take(steps: readonly AskedStep[]): Promise<StepsReply> }

function replyOf(outcome: StepsOutcome): StepsReply {
  return typeof outcome === 'string' ? { status: outcome } : { status: 'done', steps: outcome }
}

/** How an agent is called, and how a call is abandoned. If the run is over, the agent is notified. */
type WayToAgent = { call: CallAgent; leave?(isOver: boolean): Promise<void> }

/** Limits one call to `timeout_ms`. */
async function within(
  timeout_ms: number | null,
  signal: AbortSignal,
  call: (until: AbortSignal) => Promise<void>,
): Promise<void> {
  if (timeout_ms === null) return call(signal)
  const timeout = AbortSignal.timeout(timeout_ms)
  try {
    await call(AbortSignal.any([signal, timeout]))
  } catch (error) {
    if (!timeout.aborted || signal.aborted) throw error
    throw new AgentFailure(`The remote agent did not answer within ${timeout_ms} ms.`)
  }
}

/** Whether this error means that the run is over. A run that only left this process continues elsewhere. */
function isEnd(error: unknown, { cancellation, keeper }: RunRequest, { deadline }: RunHost): boolean {
  if (deadline.stopped === 'timeout') return true
  if (deadline.stopped !== 'cancelled') return error instanceof AgentFailure
  return !cancellation.isGivenUp && (cancellation.cancelled || !keeper)
}

/**
 * The context ID of a session. It is hashed with the agent and the user, because other services may use the same
 * session names.
 */
function contextOf(agent_id: string, { user_id, session_id }: RunRequest['context']): string {
  if (session_id === undefined) return ''
  return hash('sha256', JSON.stringify([agent_id, user_id ?? null, session_id])).slice(0, 32)
}

/**
 * The signing secret's name among the headers. It isn't sent, but like the others it can only be used for its hosts.
 */
const SIGNING = ' signing'
