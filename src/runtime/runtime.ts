import { storable } from '../lib/text/text.ts'
import { DEFAULT_EXPIRY_SECONDS } from './approvals/approval-policy.ts'
import { Cancellation, Deadline, type PauseSource } from './deadline.ts'
import { SpendingRefused } from './models/meter.ts'
import { ModelFailure, PromptTooLong } from './models/model.ts'
import { AgentFailure, type Log, type LogEntry } from './outcome.ts'
import { OutputInvalid } from './output/check-output.ts'
import { listModels } from './providers/list-models.ts'
import { keysOf, type Provider } from './providers/provider-source.ts'
import type { AskedStep } from './remote-agent/asked-step.ts'
import type { CheckedPoint } from './remote-agent/check/check-points.ts'
import type { StepsReply } from './remote-agent/remote-conversation.ts'
import { leftBy, pausedStep, RunStopped, Waits } from './run-in-progress.ts'
import type { RunOutcome } from './run-outcome.ts'
import type { RecallForRun, RunRequest } from './runner.ts'
import { openRunners, type RunnerOptions } from './runners.ts'
import { SchemaCheck } from './schemas/schema-check.ts'
import type { SchemaProblem } from './schemas/schema-errors.ts'
import { schemaProblem } from './schemas/schema-size.ts'
import type { Tool } from './spec.ts'
import { StepNotKept } from './steps.ts'
import { askNoAgent } from './tools/agent-tool.ts'
import { argumentProblem } from './tools/argument-problem.ts'
import { parseArguments } from './tools/arguments.ts'
import { connectionsOfRun } from './tools/connections/connected.ts'
import { growingRedactor, type Redact, redactor, secretsOf, valuesOf } from './tools/fill-secrets.ts'
import type { Fetch } from './tools/tool.ts'
import { type ToolTrial, type TrialToolCall, tryTool } from './tools/try-tool.ts'

export type RuntimeOptions = Omit<RunnerOptions, 'schemaCheck'> & {
  defaultTimeoutMs: number
  pauses: PauseSource
  /** Whether an error of `secrets`, `providers` and the like means that the database is unavailable. */
  isStoreAway(error: unknown): boolean
}

type Trial = Pick<RunRequest, 'project_id' | 'agent_id' | 'cancellation'> & { key: string }

/** Whether the provider requires a key, or a different one. */
function isForKey({ detail }: ModelFailure): boolean {
  return detail['status'] === 401 || detail['status'] === 403
}

type ProvenKey = 'accepted' | 'untested' | 'none'

/** Runs agents: takes a message and returns an outcome. */
export class Runtime {
  readonly #options: RuntimeOptions
  readonly #runners: ReturnType<typeof openRunners>
  readonly schemaCheck = new SchemaCheck()
  readonly #closing = new Cancellation()
  readonly #idle = Promise.withResolvers<void>()
  #active = 0

  constructor(options: RuntimeOptions) {
    this.#options = options
    this.#runners = openRunners({ ...options, schemaCheck: this.schemaCheck })
  }

  /** The models that a provider lists. Undefined if there is no such provider. Throws ModelFailure. */
  async listModels(project_id: string, name: string): Promise<string[] | undefined> {
    const provider = await this.#findProvider(project_id, name)
    return provider && listModels(provider, this.#options)
  }

  /**
   * Whether the provider's reply proves that its key works. A model's answer proves it. A list of models proves it only
   * if the same request is refused without the key because the key is missing.
   */
  async provenKey(project_id: string, name: string, given: 'list' | 'answer' | 'nothing'): Promise<ProvenKey> {
    const provider = await this.#findProvider(project_id, name)
    if (!provider?.apiKey) return 'none'
    if (given !== 'list') return given === 'answer' ? 'accepted' : 'untested'
    return listModels({ ...provider, apiKey: undefined }, this.#options).then(
      () => 'untested',
      (error) => (error instanceof ModelFailure && isForKey(error) ? 'accepted' : 'untested'),
    )
  }

  async #findProvider(project_id: string, name: string): Promise<Provider | undefined> {
    return (await this.#options.providers(project_id)).find((known) => known.name === name)
  }

  /**
   * Tries one tool outside of any run. `key` identifies the call to the tool's server. If the client disconnects, the
   * call is cancelled.
   */
  async tryTool(
    tool: Tool,
    call: TrialToolCall | undefined,
    { project_id, agent_id, key, cancellation }: Trial,
  ): Promise<ToolTrial> {
    const { now, providers, secrets, connections, fetch, defaultTimeoutMs } = this.#options
    const used = secretsOf([tool], await secrets(project_id))
    const { redact, hide } = growingRedactor({ ...keysOf(await providers(project_id)), ...valuesOf(used) })
    const deadline = new Deadline([cancellation, this.#closing], defaultTimeoutMs)
    const world = {
      secrets: used,
      connections: connectionsOfRun(connections, { project_id, user_id: undefined }, hide),
      redact,
      deadline,
      log: () => {},
      fetch: (url: Parameters<Fetch>[0], init: Parameters<Fetch>[1]) => fetch(url, { ...init, owner: agent_id }),
      schemaCheck: this.schemaCheck,
      project_id,
      agent_id,
      expires_after_seconds: DEFAULT_EXPIRY_SECONDS,
      user_id: undefined,
      keepFile: undefined,
      askAgent: askNoAgent,
    }
    try {
      return await tryTool(tool, call, world, { now, key })
    } catch (error) {
      if (!deadline.stopped) throw error
      const message = `No answer within ${defaultTimeoutMs} ms.`
      return { tools: [], result: null, error: deadline.stopped === 'timeout' ? message : 'The test was cancelled.' }
    } finally {
      deadline.release()
    }
  }

  /** Checks a remote agent point by point. Points for which there was no time are left out. */
  async checkRemote(
    agent: Pick<RunRequest, 'project_id' | 'agent_id' | 'agent'>,
    { cancellation, ...trial }: { message: string; timeout_ms: number; cancellation: Cancellation },
  ): Promise<{ points: CheckedPoint[]; error: string | null }> {
    const { providers, secrets } = this.#options
    const { project_id, agent: spec } = agent
    const used = secretsOf(spec.remote ? [spec.remote] : [], await secrets(project_id))
    const redact = redactor({ ...keysOf(await providers(project_id)), ...valuesOf(used) })
    const deadline = new Deadline([cancellation, this.#closing], LONGEST_CHECK_MS)
    const points: CheckedPoint[] = []
    try {
      const { signal } = deadline
      for await (const { detail, ...point } of this.#runners.remote.check(agent, { ...trial, signal })) {
        points.push({ ...point, detail: detail && storable(redact(detail).slice(0, MAX_DETAIL)) })
      }
      return { points, error: null }
    } catch (error) {
      if (deadline.stopped === 'timeout')
        return { points, error: `The check did not finish within ${LONGEST_CHECK_MS} ms.` }
      if (deadline.stopped) return { points, error: 'The check was cancelled.' }
      if (error instanceof AgentFailure) return { points, error: redact(error.message) }
      throw error
    } finally {
      deadline.release()
    }
  }

  /** What is wrong with arguments that a person wrote for a call, or undefined. */
  async checkArguments(
    agent: Pick<RunRequest, 'project_id' | 'agent_id'>,
    args: Record<string, unknown>,
    input_schema: object,
  ): Promise<string | undefined> {
    const read = parseArguments(JSON.stringify(args))
    if ('problem' in read) return read.problem
    return argumentProblem(read.value, input_schema, { schemaCheck: this.schemaCheck, ...agent })
  }

  /** What is wrong with a schema, and where. Undefined if that can't be determined now. */
  async reviewSchema(lane: string, schema: object): Promise<readonly SchemaProblem[] | undefined> {
    const size = schemaProblem(schema)
    if (size) return [{ at: '', problem: size }]
    const answer = await this.schemaCheck.review(schema, { lane })
    if (answer.outcome === 'undecided') return undefined
    return answer.outcome === 'errors' ? answer.errors : []
  }

  /**
   * Runs an agent. `recall` runs within the run's time limit, and its signal aborts when the run ends. Rejects with the
   * error of `recall`, with StepNotKept, or if the database is unavailable, but not because of anything that an agent,
   * a model or a tool does. Settles only when all of them have stopped.
   */
  async run(asked: RunRequest, recall?: RecallForRun): Promise<RunOutcome> {
    const { agent, attempt, cancellation, keeper, project_id } = asked
    const { now, defaultTimeoutMs, pauses } = this.#options
    const { paused, release } = await pauses.watch(project_id)
    const timeout_ms = agent.limits.timeout_ms ?? defaultTimeoutMs
    const left_ms = Math.max(0, (asked.tree?.deadline_at ?? Infinity) - now())
    const deadline = new Deadline([cancellation, this.#closing], Math.min(timeout_ms, left_ms), paused)
    const kept = keeper?.kept ?? []
    const logs: LogEntry[] = kept.flatMap((step) => step.logs)
    let redact: Redact = (text) => text
    const log = redactedLog(logs, (text) => redact(text), now)
    const left = leftBy(kept)
    const hide = (hiding: Redact) => void (redact = hiding)
    const ended = <How>(how: How) => ({ ...how, ...left, logs })
    this.#active += 1
    const over = () => {
      release()
      deadline.release()
      this.#active -= 1
      if (this.#active === 0 && this.#closing.cancelled) this.#idle.resolve()
    }
    const recalled = await recall?.(deadline.signal).catch((error: unknown) => {
      over()
      throw error
    })
    const request = { ...asked, ...recalled }
    if (request.recall) left.steps.push(request.recall)
    try {
      if (deadline.stopped === 'cancelled') return ended({ status: 'cancelled' })
      if (deadline.stopped) throw new RunStopped()
      const host = { now, deadline, log, logs, logged: logs.length, left, hide }
      return ended(await this.#runners[agent.kind].run(request, host))
    } catch (error) {
      if (error instanceof StepNotKept || this.#options.isStoreAway(error)) throw error
      if (error instanceof Waits) {
        const { until, asks, waits_for } = error
        return ended({ status: 'waiting', until, asks, waits_for })
      }
      if (deadline.stopped === 'paused') {
        log('info', 'The run waits because the project or the service is paused.')
        left.steps.push(pausedStep(left, { attempt, logs, now: now() }))
        return ended({ status: 'waiting', until: now(), asks: [], waits_for: undefined })
      }
      const late = request.tree?.isChild && left_ms < timeout_ms ? CALLED_TOO_LATE : lateFor(timeout_ms)
      return ended(ending(error, deadline, { log, redact, late }))
    } finally {
      over()
    }
  }

  /** Cancels the runs in progress and waits until they have ended. */
  async close(): Promise<void> {
    this.#closing.cancel()
    if (this.#active > 0) await this.#idle.promise
    await Promise.all([this.#runners.equipment.close(), this.schemaCheck.close()])
  }

  /** Passes on the steps that a remote agent requests. Undefined if this attempt isn't active on this node. */
  takeSteps(request_id: string, attempt: number, steps: readonly AskedStep[]): Promise<StepsReply> | undefined {
    return this.#runners.remote.takeSteps(request_id, attempt, steps)
  }

  /** Whether this attempt is active on this node. */
  isTakingSteps(run: { request_id: string; attempt: number }): boolean {
    return this.#runners.remote.isTaking(run)
  }
}

/** A check can take as long as a run. */
const LONGEST_CHECK_MS = 600_000
/** The longest detail of one point, in characters. */
const MAX_DETAIL = 1_000

const CALLED_TOO_LATE = "The agent did not answer in the time that its caller's run had left."

function lateFor(timeout_ms: number): string {
  return `The agent did not answer within ${timeout_ms} ms.`
}

const TOO_MANY_REQUESTS = 429

/** The outcome of a run that didn't answer. */
function ending(error: unknown, deadline: Deadline, { log, redact, late }: { log: Log; redact: Redact; late: string }) {
  if (deadline.stopped === 'cancelled') {
    log('info', 'The run was cancelled.')
    return { status: 'cancelled' as const }
  }
  const failed = { status: 'failed' as const, reason: 'error' as const }
  if (deadline.stopped === 'timeout') {
    log('error', late)
    return { ...failed, reason: 'timeout' as const, message: late }
  }
  if (error instanceof AgentFailure) {
    // The error's message is returned when the run ends. It names the budget and the amount, so it isn't logged here.
    if (!(error instanceof SpendingRefused)) log('error', error.message, error.detail)
    if (error instanceof ModelFailure && error.detail['status'] === TOO_MANY_REQUESTS) {
      const after_ms = error.retry?.after_ms
      return { ...failed, reason: 'busy' as const, message: redact(error.message), after_ms }
    }
    if (error instanceof SpendingRefused) {
      const { message, opening, budget } = error
      return { ...failed, reason: 'over budget' as const, message, until: opening?.until, budget }
    }
    if (error instanceof OutputInvalid) {
      const { message, problems } = error
      return { ...failed, reason: 'unfit' as const, message, problems }
    }
    const reason = error instanceof PromptTooLong ? ('too long' as const) : failed.reason
    return { ...failed, reason, message: redact(error.message) }
  }
  log('error', 'The agent failed unexpectedly.', { error: error instanceof Error ? error.message : String(error) })
  return { ...failed, message: 'The agent failed unexpectedly.' }
}

/** Secrets are removed before anything enters the log. */
function redactedLog(entries: LogEntry[], redact: Redact, now: () => number): Log {
  const clean = (text: string) => storable(redact(text).slice(0, 2_000))
  return (level, message, metadata = {}) => {
    const cleanValue = (value: unknown) => (typeof value === 'string' ? clean(value) : value)
    const cleaned = Object.entries(metadata).map(([key, value]) => [key, cleanValue(value)])
    entries.push({ timestamp: now(), level, message: clean(message), metadata: Object.fromEntries(cleaned) })
  }
}
