import { setTimeout as delay } from 'node:timers/promises'
import { idSource } from '../../../lib/id.ts'
import { AgentFailure } from '../../outcome.ts'
import type { ProviderSockets } from '../../providers/provider-sockets.ts'
import type { AskedStep, DoneStep } from '../asked-step.ts'
import { callHeaders, type SignCall } from '../call-headers.ts'
import type { RemoteCallBody } from '../contract.ts'
import { exchange } from '../remote-exchange.ts'

/** The host's reply to steps: they are done, the run waits, or the call is over. */
export type StepsOutcome = DoneStep[] | 'waiting' | 'over'

/** Receives what an agent requests during one call. */
export type StepsHearer = {
  take(steps: AskedStep[]): Promise<StepsOutcome>
  /** Called when the agent sends something that isn't a request for steps. */
  object(problem: string): void
}

type TrialRun = { request_id: string; attempt: number }

/** The service as a remote agent sees it: a URL for requesting steps. */
export type PlayedHost = {
  /** Accepts the steps of one call until it is closed. */
  open(run: TrialRun, hearer: StepsHearer): { steps_url: string; steps_token: string; close(): void }
}

/** An agent to check. `told` is what its definition contains. */
export type RemoteTrial = {
  url: string
  secret: string
  /** Signs a call that the agent should refuse. */
  wrongSecret: string
  headers?: Record<string, string>
  told?: Partial<Pick<RemoteCallBody, 'instructions' | 'model' | 'temperature' | 'output'>>
  message: string
  timeout_ms: number
  host: PlayedHost
  openSockets(origin: string): ProviderSockets
  sign: SignCall
  signal: AbortSignal
}

/** A call's differences from the first call of a new run. */
export type CallPlan = {
  run?: TrialRun
  steps?: DoneStep[]
  said?: string
  secret?: string
  /** How far in the past the call's timestamp is. */
  age_ms?: number
  take?: (steps: AskedStep[]) => StepsOutcome
  /** The host closes the connection when the first data arrives, or after this time. */
  closeAfterMs?: number
}

/** The result of a call. */
export type TriedRemote = {
  request_id: string
  /** Why the result isn't a complete answer. */
  problem: string | undefined
  isLate: boolean
  /** The status, if the agent refused the call. */
  status: number | undefined
  said: string
  asked: StepBatch[]
  /** Models that the agent claims to have used. */
  models: Set<string>
}

/** Steps that were requested together, their results, and the text sent before them. */
export type StepBatch = { steps: AskedStep[]; done: DoneStep[]; said: string }

/** How many times, and how long each time, the reply to steps waits for other steps that are requested in parallel. */
const PAUSES = 5
const PAUSE_MS = 10

/** Calls the agent as the service does. Rejects only if the check was cancelled. */
export async function callRemote(
  trial: RemoteTrial,
  plan: CallPlan,
  doStep: (step: AskedStep) => DoneStep,
): Promise<TriedRemote> {
  const { url, timeout_ms, host, signal } = trial
  const { run = newRun(), take = (steps) => steps.map(doStep) } = plan
  const { request_id } = run
  const nothing = {
    problem: undefined,
    isLate: false,
    status: undefined,
    said: '',
    asked: [],
    models: new Set<string>(),
  }
  const tried: TriedRemote = { request_id, ...nothing }
  const closing = new AbortController()
  const hangUp = () => plan.closeAfterMs !== undefined && closing.abort()
  const door = host.open(run, hearing(tried, take, hangUp))
  const timeout = AbortSignal.timeout(timeout_ms)
  const timer = setTimeout(hangUp, plan.closeAfterMs ?? 0)
  const sockets = trial.openSockets(new URL(url).origin)
  try {
    await exchange(
      signedCall(trial, plan, { ...run, ...door }),
      { sockets, signal: AbortSignal.any([signal, timeout, closing.signal]), now: Date.now },
      (heard) => {
        if (heard.kind === 'text') tried.said += heard.text
        if (heard.kind === 'usage' && heard.model) tried.models.add(heard.model)
        hangUp()
      },
    )
  } catch (error) {
    signal.throwIfAborted()
    tried.isLate = timeout.aborted
    tried.problem ??= tried.isLate ? `it did not finish within ${timeout_ms / 1000} s` : wordsOf(error)
    if (error instanceof AgentFailure) tried.status = error.detail['status'] as number | undefined
  } finally {
    clearTimeout(timer)
    door.close()
    await sockets.close()
  }
  return tried
}

/** Records what the agent requests, and replies. */
function hearing(tried: TriedRemote, take: (steps: AskedStep[]) => StepsOutcome, onAsked: () => void): StepsHearer {
  let open: { asked: StepBatch; gathered: Promise<void> } | undefined
  const gather = () => {
    const asked: StepBatch = { steps: [], done: [], said: tried.said }
    tried.asked.push(asked)
    return { asked, gathered: othersArrive().then(() => void (open = undefined)) }
  }
  return {
    async take(steps) {
      onAsked()
      open ??= gather()
      const { asked, gathered } = open
      asked.steps.push(...steps)
      const outcome = take(steps)
      if (outcome === 'over') return outcome
      await gathered
      if (outcome !== 'waiting') asked.done.push(...outcome)
      return outcome
    },
    object(problem) {
      tried.problem ??= problem
    },
  }
}

/** Waits in several short pauses, so requests get in even if this machine hangs for longer than one pause. */
async function othersArrive(): Promise<void> {
  for (let pause = 0; pause < PAUSES; pause += 1) await delay(PAUSE_MS)
}

function newRun(): TrialRun {
  return { request_id: idSource()('req', Date.now()), attempt: 1 }
}

/** Includes the server's messages about its own problems, because the agent's developers run this check. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof AgentFailure)) return String(error)
  const { remote_message } = error.detail
  return typeof remote_message === 'string' && remote_message !== ''
    ? `${error.message.replace(/\.$/, '')}: ${remote_message}`
    : error.message
}

type TrialCall = TrialRun & { steps_url: string; steps_token: string }

function signedCall(
  { url, message, secret, headers: own = {}, told, timeout_ms, sign }: RemoteTrial,
  plan: CallPlan,
  { request_id, attempt, steps_url, steps_token }: TrialCall,
) {
  const { steps = [], said = '', age_ms = 0 } = plan
  const call: RemoteCallBody = {
    request_id,
    attempt,
    message,
    context: {},
    history: [],
    summary: null,
    recalled: [],
    attachments: [],
    instructions: null,
    model: 'builtin/echo',
    temperature: null,
    output: null,
    unfit: null,
    ...told,
    tools: [],
    steps,
    said,
    deadline: new Date(Date.now() + timeout_ms).toISOString(),
    steps_url,
    steps_token,
  }
  const body = JSON.stringify(call)
  const signing = { run: call, body, secret: plan.secret ?? secret, own, now: Date.now() - age_ms }
  return { url, headers: callHeaders(signing, sign), body }
}
