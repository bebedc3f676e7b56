import { storable } from '../lib/text/text.ts'
import type { Span } from '../telemetry/tracing.ts'
import { DEFAULT_EXPIRY_SECONDS } from './approvals/approval-policy.ts'
import { converse } from './conversation.ts'
import { Cancellation, Deadline } from './deadline.ts'
import { type Redact, redactor, type SecretSource, type Secrets, secretsOf } from './fill-secrets.ts'
import { ModelFailure, PromptTooLong } from './models/model.ts'
import { Models } from './models/registry.ts'
import { AgentFailure, type Log, type LogEntry, type RunEvent } from './outcome.ts'
import { ModelWindows } from './prompt/model-windows.ts'
import { listModels } from './providers/list-models.ts'
import type { ProxySettings, Reach } from './providers/provider-sockets.ts'
import { fetchOf, keysOf, ProviderKeys, type ProviderSource } from './providers/provider-source.ts'
import { leftBy, Stopped, Waits } from './run-in-progress.ts'
import { type RunInput } from './run-input.ts'
import type { RunOutcome } from './run-outcome.ts'
import { SchemaCheck } from './schemas/schema-check.ts'
import type { Tool } from './spec.ts'
import { type RecallStep, roundsForCaller, type StepKeeper, StepNotKept } from './steps.ts'
import { argumentProblem } from './tools/argument-problem.ts'
import { parseArguments } from './tools/arguments.ts'
import { McpServers } from './tools/mcp/mcp-servers.ts'
import type { Fetch } from './tools/tool.ts'
import { NO_TOOLS, openToolbox, type Toolbox, withCallersTools } from './tools/toolbox.ts'
import { type TriedCall, type TriedTool, tryTool } from './tools/try-tool.ts'

export type RuntimeOptions = {
  providers: ProviderSource
  secrets: SecretSource
  /** The guarded client, for addresses that clients of the API choose. Those of the configuration are not guarded. */
  fetch: Fetch
  /** The same guard for model providers that clients of the API have set. */
  reach: Reach
  /** For requests to the other model providers. */
  proxy?: ProxySettings | undefined
  now: () => number
  defaultTimeoutMs: number
  /** How long to wait before the first retry of a model call. */
  retryDelayMs?: number
}

/** The input of a run, and who is told about it. */
export type RunRequest = RunInput & {
  request_id: string
  /** The agent on whose behalf tools are called. */
  agent_id: string
  /** How often the run has begun, including this time. */
  attempt: number
  /** Stores the run's steps, so that it survives its process. The run goes on after the stored ones. */
  keeper?: StepKeeper | undefined
  /** What memory found for this attempt. */
  recall?: RecallStep | undefined
  /** The run in its trace, if there is one. */
  span?: Span | undefined
  cancellation: Cancellation
  emit?: ((event: RunEvent) => void) | undefined
}

const RETRY_DELAY_MS = 500

/** Runs agents: a message goes in, an outcome comes out. */
export class Runtime {
  readonly #options: RuntimeOptions
  readonly #models: Models
  readonly #windows: ModelWindows
  readonly #providerKeys = new ProviderKeys()
  readonly #schemaCheck = new SchemaCheck()
  readonly #mcpServers: McpServers
  readonly #closing = new Cancellation()
  readonly #idle = Promise.withResolvers<void>()
  #active = 0

  constructor(options: RuntimeOptions) {
    const { now } = options
    this.#options = options
    this.#models = new Models(options)
    this.#windows = new ModelWindows(now)
    this.#mcpServers = new McpServers(now)
  }

  /** The models that a provider itself says it has; undefined if there is no such provider. Throws ModelFailure. */
  async listModels(name: string): Promise<string[] | undefined> {
    const { providers, fetch, now } = this.#options
    const provider = (await providers()).find((known) => known.name === name)
    return provider && listModels(provider, fetchOf(provider, fetch), now)
  }

  /** Tries one tool outside of any run. A client that goes away cancels it. */
  async tryTool(
    tool: Tool,
    call: TriedCall | undefined,
    { agent_id, request_id, cancellation }: Pick<RunRequest, 'agent_id' | 'request_id' | 'cancellation'>,
  ): Promise<TriedTool> {
    const { now, providers, secrets, fetch, defaultTimeoutMs } = this.#options
    const used = secretsOf([tool], await secrets())
    const redact = redactor({ ...keysOf(await providers()), ...valuesOf(used) })
    const deadline = new Deadline([cancellation, this.#closing], defaultTimeoutMs)
    const world = {
      secrets: used,
      redact,
      deadline,
      log: () => {},
      fetch: (url: Parameters<Fetch>[0], init: Parameters<Fetch>[1]) => fetch(url, { ...init, owner: agent_id }),
      schemaCheck: this.#schemaCheck,
      agent_id,
      expires_after_seconds: DEFAULT_EXPIRY_SECONDS,
      user_id: undefined,
    }
    try {
      return await tryTool(tool, call, world, { now, key: request_id })
    } catch (error) {
      if (!deadline.stopped) throw error
      const message = `No answer within ${defaultTimeoutMs} ms`
      return { tools: [], result: null, error: deadline.stopped === 'timeout' ? message : 'The test was cancelled' }
    } finally {
      deadline.release()
    }
  }

  /** What is wrong with arguments that a person wrote for a call, or undefined. */
  async checkArguments(args: Record<string, unknown>, input_schema: object): Promise<string | undefined> {
    const read = parseArguments(JSON.stringify(args))
    return 'problem' in read ? read.problem : argumentProblem(read.value, input_schema, this.#schemaCheck)
  }

  /**
   * Rejects only with StepNotKept, and not for anything that an agent, a model or a tool does. Settles when all of them
   * have stopped.
   */
  async run(input: RunRequest): Promise<RunOutcome> {
    const { request_id, attempt, agent, cancellation, emit, keeper, span } = input
    const { now, providers, secrets, defaultTimeoutMs } = this.#options
    const deadline = new Deadline([cancellation, this.#closing], agent.limits.timeout_ms ?? defaultTimeoutMs)
    const kept = keeper?.kept ?? []
    const logs: LogEntry[] = []
    for (const step of kept) logs.push(...step.logs)
    const logged = logs.length
    let redact: Redact = (text) => text
    const log = redactedLog(logs, (text) => redact(text), now)
    const left = leftBy(kept)
    if (input.recall) left.steps.push(input.recall)
    const ended = <How>(how: How) => ({ ...how, ...left, logs })
    let toolbox = NO_TOOLS
    this.#active += 1
    try {
      if (deadline.stopped) return ended({ status: 'cancelled' })
      const model = await this.#models.get(agent.model)
      redact = this.#providerKeys.redactorOf(await providers())
      if (agent.tools.length > 0) {
        const used = secretsOf(agent.tools, await secrets())
        redact = redactor({ ...keysOf(await providers()), ...valuesOf(used) })
        toolbox = await this.#openToolbox(input, { secrets: used, redact, deadline, log })
        if (deadline.stopped) throw new Stopped()
      }
      if (input.given?.tools) toolbox = withCallersTools(toolbox, input.given.tools, log)
      const windows = this.#windows
      const conversation = { request_id, attempt, input, model, windows, toolbox, deadline, emit, log, logs, logged }
      const retryDelayMs = this.#options.retryDelayMs ?? RETRY_DELAY_MS
      await converse({ ...conversation, now, retryDelayMs, keeper, span, left_out: undefined, left })
      const rounds = roundsForCaller(left.steps, input.given?.rounds)
      return ended(rounds ? { status: 'completed', rounds } : { status: 'completed' })
    } catch (error) {
      if (error instanceof StepNotKept) throw error
      if (error instanceof Waits) return ended({ status: 'waiting', until: error.until, asks: error.asks })
      return ended(ending(error, deadline, log, redact))
    } finally {
      if (toolbox !== NO_TOOLS) await toolbox.close()
      deadline.release()
      this.#active -= 1
      if (this.#active === 0 && this.#closing.cancelled) this.#idle.resolve()
    }
  }

  /** Cancels the runs under way and waits for them. */
  async close(): Promise<void> {
    this.#closing.cancel()
    if (this.#active > 0) await this.#idle.promise
    await Promise.all([this.#mcpServers.close(), this.#models.close(), this.#schemaCheck.close()])
  }

  #openToolbox(
    { agent_id, agent, context }: RunRequest,
    own: { secrets: Secrets; redact: Redact; deadline: Deadline; log: Log },
  ): Promise<Toolbox> {
    return openToolbox(agent.tools, this.#mcpServers, {
      ...own,
      fetch: (url, init) => this.#options.fetch(url, { ...init, owner: agent_id }),
      schemaCheck: this.#schemaCheck,
      agent_id,
      expires_after_seconds: agent.approvals.expires_after_seconds,
      user_id: context.user_id,
    })
  }
}

const TOO_MANY_REQUESTS = 429

/** The outcome of a run that did not answer. */
function ending(error: unknown, deadline: Deadline, log: Log, redact: Redact) {
  if (deadline.stopped === 'cancelled') {
    log('info', 'The run was cancelled')
    return { status: 'cancelled' as const }
  }
  const failed = { status: 'failed' as const, reason: 'error' as const }
  if (deadline.stopped === 'timeout') {
    const message = `The agent did not answer within ${deadline.timeout_ms} ms`
    log('error', message)
    return { ...failed, reason: 'timeout' as const, message }
  }
  if (error instanceof AgentFailure) {
    log('error', error.message, error.detail)
    if (error instanceof ModelFailure && error.detail['status'] === TOO_MANY_REQUESTS) {
      const after_ms = error.retry?.after_ms
      return { ...failed, reason: 'busy' as const, message: redact(error.message), after_ms }
    }
    const reason = error instanceof PromptTooLong ? ('too long' as const) : failed.reason
    return { ...failed, reason, message: redact(error.message) }
  }
  log('error', 'The agent failed unexpectedly', { error: error instanceof Error ? error.message : String(error) })
  return { ...failed, message: 'The agent failed unexpectedly' }
}

/** Secrets are removed before anything enters the log. */
function redactedLog(entries: LogEntry[], redact: Redact, now: () => number): Log {
  const clean = (text: string) => storable(redact(text).slice(0, 2_000))
  return (level, message, metadata = {}) => {
    const cleaned = Object.entries(metadata).map(([key, value]) => [
      key,
      typeof value === 'string' ? clean(value) : value,
    ])
    entries.push({ timestamp: now(), level, message: clean(message), metadata: Object.fromEntries(cleaned) })
  }
}

function valuesOf(secrets: Secrets): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).map(([name, { value }]) => [name, value]))
}
