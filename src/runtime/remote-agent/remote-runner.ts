import { converse } from '../conversation/conversation.ts'
import type { Equipment } from '../conversation/equipment.ts'
import type { Round } from '../models/model.ts'
import { AgentFailure } from '../outcome.ts'
import { guardedSockets, type Reach } from '../providers/provider-sockets.ts'
import { type RunInProgress, Stopped, Waits } from '../run-in-progress.ts'
import type { Answered, RunHost, Runner, RunRequest } from '../runner.ts'
import type { RemoteSettings } from '../spec.ts'
import { fillHeaders, SecretRefused, type SecretSource } from '../tools/fill-secrets.ts'
import type { AskedStep } from './asked-step.ts'
import { callBody, type StepsDoor } from './call-body.ts'
import { callHeaders, type SignCall } from './call-headers.ts'
import { hostSteps, type RunMemory } from './host-steps.ts'
import { RemoteConversation, type StepsReply } from './remote-conversation.ts'
import { exchange, type Heard, SIGNING_SECRET } from './remote-exchange.ts'

export type RemoteRunnerOptions = {
  reach: Reach
  secrets: SecretSource
  now: () => number
  memory: RunMemory
  sign: SignCall
  /** Where the agent asks for steps of this attempt. */
  stepsDoor(run: Pick<RunRequest, 'project_id' | 'agent_id' | 'request_id' | 'attempt'>): StepsDoor
}

/** Agents that run elsewhere: their server is called with the message, and may ask for steps while it answers. */
export class RemoteRunner implements Runner {
  readonly #options: RemoteRunnerOptions
  readonly #equipment: Equipment
  /** The runs under way here, by request id. */
  readonly #conversations = new Map<string, { attempt: number; conversation: RemoteConversation }>()

  constructor(equipment: Equipment, options: RemoteRunnerOptions) {
    this.#equipment = equipment
    this.#options = options
  }

  async run(request: RunRequest, host: RunHost): Promise<Answered> {
    const { request_id, agent_id, tree, attempt, context, agent } = request
    const { memory } = this.#options
    const settings = agent.remote
    if (!settings) throw new AgentFailure('The agent has no address')
    const memory_of = tree ? tree.memory_of : agent_id
    const owner = { agent_id: memory_of, user_id: context.user_id, session_id: context.session_id }
    const run: RunInProgress = await this.#equipment.open(
      request,
      host,
      hostSteps({ memory, owner, run: () => run }),
      settings,
    )
    const conversation = new RemoteConversation(run, (rounds, signal, hear) =>
      this.#call(request, settings, run, rounds, signal, hear),
    )
    this.#conversations.set(request_id, { attempt, conversation })
    let left: 'over' | 'waiting' = 'over'
    try {
      if (host.deadline.stopped) throw new Stopped()
      await converse(run, conversation.ask)
      return { status: 'completed' }
    } catch (error) {
      if (error instanceof Waits || host.deadline.stopped === 'paused') left = 'waiting'
      throw error
    } finally {
      conversation.leave(left)
      if (this.#conversations.get(request_id)?.conversation === conversation) this.#conversations.delete(request_id)
      await run.toolbox.close()
    }
  }

  /** The agent asks for steps. Undefined if this attempt of its run is not under way here. */
  takeSteps(request_id: string, attempt: number, steps: readonly AskedStep[]): Promise<StepsReply> | undefined {
    const known = this.#conversations.get(request_id)
    return known?.attempt === attempt ? known.conversation.take(steps) : undefined
  }

  async #call(
    request: RunRequest,
    settings: RemoteSettings,
    run: RunInProgress,
    rounds: readonly Round[],
    signal: AbortSignal,
    hear: (heard: Heard) => void,
  ): Promise<void> {
    const { agent_id, span } = request
    const { url, timeout_ms } = settings
    const { stepsDoor, reach, now, sign } = this.#options
    const body = await callBody(run, rounds, stepsDoor(request))
    const { own, secret } = await this.#secretsOf(settings, request)
    const headers = callHeaders({ run: request, body, secret, own, now: now(), traceparent: span?.traceparent }, sign)
    const timeout = timeout_ms === null ? undefined : AbortSignal.timeout(timeout_ms)
    const until = timeout ? AbortSignal.any([signal, timeout]) : signal
    try {
      const sockets = guardedSockets(new URL(url).origin, reach, agent_id)
      await exchange({ url, headers, body }, { sockets, signal: until, now }, hear)
    } catch (error) {
      if (timeout?.aborted && !signal.aborted) {
        throw new AgentFailure(`The remote agent did not answer within ${timeout_ms} ms`)
      }
      throw error
    }
  }

  /** The headers that the agent names, and the secret that signs the call. */
  async #secretsOf({ url, headers, secret: name }: RemoteSettings, { project_id }: RunRequest) {
    const named = { ...headers, [SIGNING]: `{{secret.${name}}}` }
    try {
      const known = await this.#options.secrets(project_id)
      const { [SIGNING]: secret = '', ...own } = fillHeaders(named, new URL(url), known)
      if (!SIGNING_SECRET.test(secret)) {
        throw new AgentFailure(`The secret ${name} must be whsec_ and at least 18 bytes in base64`)
      }
      return { own, secret }
    } catch (error) {
      throw error instanceof SecretRefused ? new AgentFailure(error.message) : error
    }
  }
}

/** A place among the headers for the secret that is used and not sent: it may be used for its hosts only. */
const SIGNING = ' signing'
