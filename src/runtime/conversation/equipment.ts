import { LRUCache } from 'lru-cache'
import { laneKey } from '../../lib/work/lane-key.ts'
import type { FileMaker, FileShelf } from '../attachments/attachment.ts'
import { PdfTexts } from '../attachments/pdf-text.ts'
import { RunFiles } from '../attachments/run-files.ts'
import { wantedOutput } from '../models/model-request.ts'
import { Refusals } from '../models/refusing-models.ts'
import { Models } from '../models/registry.ts'
import { checkOutput } from '../output/check-output.ts'
import type { WantedOutput } from '../output/wanted-output.ts'
import { ModelWindows } from '../prompt/fit-prompt.ts'
import type { ProxySettings, Reach } from '../providers/provider-sockets.ts'
import { keysOf, ProviderKeys, type ProviderSource } from '../providers/provider-source.ts'
import type { RunInProgress, RunOutput } from '../run-in-progress.ts'
import type { RunHost, RunRequest } from '../runner.ts'
import type { SchemaCheck } from '../schemas/schema-check.ts'
import type { RemoteSettings } from '../spec.ts'
import { askNoAgent } from '../tools/agent-tool.ts'
import { type ConnectionSource, connectionsOfRun } from '../tools/connections/connected.ts'
import { growingRedactor, type SecretSource, type Secrets, secretsOf, valuesOf } from '../tools/fill-secrets.ts'
import { McpServers } from '../tools/mcp/mcp-servers.ts'
import { recordedToolbox } from '../tools/recorded-tools.ts'
import type { Fetch, RunTool, ToolWorld } from '../tools/tool.ts'
import { NO_TOOLS, openToolbox, type Toolbox, withCallersTools } from '../tools/toolbox.ts'

export type EquipmentOptions = {
  providers: ProviderSource
  secrets: SecretSource
  connections: ConnectionSource
  /** The guarded client, for URLs that API clients choose. URLs from the configuration aren't guarded. */
  fetch: Fetch
  /** The same guard for model providers that API clients have added. */
  reach: Reach
  /** For requests to all other model providers. */
  proxy?: ProxySettings | undefined
  files: FileShelf
  now: () => number
  /** The wait before the first retry of a model call. */
  retryDelayMs?: number
  schemaCheck: SchemaCheck
}

/** What refusals have shown about the models. */
type LearntModels = { windows: ModelWindows; schemas: Refusals; vision: Refusals }

const RETRY_DELAY_MS = 500
const REMEMBERED_PROJECTS = 1_000

/** What all runs share, and what each run gets from it: models, tools, files and schemas. */
export class Equipment {
  readonly #options: EquipmentOptions
  readonly #models: Models
  /** Kept per project, because projects have different providers, whose models may have the same names. */
  readonly #learnt = new LRUCache<string, LearntModels>({ max: REMEMBERED_PROJECTS })
  readonly #providerKeys = new ProviderKeys()
  readonly #mcpServers: McpServers
  readonly #pdfs = new PdfTexts()

  constructor(options: EquipmentOptions) {
    this.#options = options
    this.#models = new Models(options)
    this.#mcpServers = new McpServers(options.now)
  }

  /**
   * Returns a run with everything that it needs. `hostSteps` are what it can request besides the agent's tools. The
   * toolbox is closed when the run ends.
   */
  async open(
    request: RunRequest,
    host: RunHost,
    hostSteps: readonly RunTool[] = [],
    remote?: RemoteSettings,
  ): Promise<RunInProgress> {
    const { request_id, project_id, providers, attempt, emit, keeper, span, given, meter, stored, recorded } = request
    const { retryDelayMs = RETRY_DELAY_MS } = this.#options
    const known = providers ?? (await this.#options.providers(project_id))
    if (known.length > 0) host.hide(this.#providerKeys.redactorOf(known))
    let toolbox = NO_TOOLS
    if (recorded) toolbox = recordedToolbox(request.agent.tools, recorded)
    else if (request.agent.tools.length + hostSteps.length > 0) {
      toolbox = await this.#openToolbox(request, host, hostSteps, remote)
    }
    if (given?.tools) toolbox = withCallersTools(toolbox, given.tools, host.log)
    const wanted = wantedOutput(request)
    const isAtOnce = toolbox.definitions.length === 0 || given?.tool_choice === 'none'
    const outputFor = (one: WantedOutput) => this.#outputFor(one, request)
    let files: RunFiles | undefined
    const filesOf = () => (files ??= this.#filesOf(request))
    return {
      request_id,
      attempt,
      input: request,
      windows: this.#learntIn(project_id).windows,
      // Most runs have no attachments.
      get files() {
        return filesOf()
      },
      output: wanted && { ...outputFor(wanted), isAtOnce },
      outputFor,
      toolbox,
      emit,
      meter,
      stored,
      ...host,
      getModel: (name) => this.#models.get(project_id, name),
      retryDelayMs,
      keeper,
      span,
      left_out: undefined,
      step_cost: 0,
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#mcpServers.close(), this.#models.close(), this.#pdfs.close()])
  }

  #learntIn(project_id: string): LearntModels {
    const { now } = this.#options
    const known = this.#learnt.get(project_id)
    if (known) return known
    const learnt = { windows: new ModelWindows(now), schemas: new Refusals(now), vision: new Refusals(now) }
    this.#learnt.set(project_id, learnt)
    return learnt
  }

  #filesOf(request: RunRequest): RunFiles {
    const { project_id, agent_id } = request
    const { vision } = this.#learntIn(project_id)
    const whose = { lane: laneKey(project_id, agent_id), whose: makerOf(request) }
    return new RunFiles({ ...whose, shelf: this.#options.files, pdfs: this.#pdfs, vision })
  }

  #outputFor(wanted: WantedOutput, { project_id, agent_id }: RunRequest): RunOutput {
    const { schemaCheck } = this.#options
    return {
      wanted,
      isAtOnce: true,
      support: this.#learntIn(project_id).schemas,
      check: (answer) => checkOutput(answer, wanted, { schemaCheck, project_id, agent_id }),
      draft: '',
    }
  }

  async #openToolbox(
    request: RunRequest,
    host: RunHost,
    hostSteps: readonly RunTool[],
    remote: RemoteSettings | undefined,
  ): Promise<Toolbox> {
    const { project_id, agent_id, agent, context, tree, stored } = request
    const { providers, secrets: known, connections, fetch, files, schemaCheck } = this.#options
    // MCP servers are asked which tools they have.
    if (agent.tools.some(({ type }) => type === 'mcp')) await stored
    const secrets: Secrets = secretsOf(remote ? [...agent.tools, remote] : agent.tools, await known(project_id))
    const { redact, hide } = growingRedactor({ ...keysOf(await providers(project_id)), ...valuesOf(secrets) })
    host.hide(redact)
    const world: ToolWorld = {
      secrets,
      connections: connectionsOfRun(connections, { project_id, user_id: context.user_id }, hide),
      redact,
      // A tool call may already have had an effect, so a pause doesn't interrupt it.
      deadline: { signal: host.deadline.lasting },
      log: host.log,
      fetch: (url, init) => fetch(url, { ...init, owner: agent_id }),
      schemaCheck,
      project_id,
      agent_id,
      expires_after_seconds: agent.approvals.expires_after_seconds,
      user_id: context.user_id,
      keepFile: (file) => files.keep(makerOf(request), file),
      askAgent: async (tool, asked) =>
        tree
          ? tree.askAgent(tool, { ...asked, deadline_at: host.now() + Math.ceil(host.deadline.remaining()) })
          : askNoAgent(tool, asked),
    }
    return openToolbox(agent.tools, hostSteps, this.#mcpServers, world, host.left.steps)
  }
}

function makerOf({ request_id, project_id, agent_id, context, created_by }: RunRequest): FileMaker {
  return { agent_id, request_id, project_id, user_id: context.user_id ?? null, created_by }
}
