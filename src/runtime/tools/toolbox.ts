import { needsApproval, type ToolApproval } from '../approvals/approval-policy.ts'
import type { AskKind, CallAsk } from '../approvals/ask.ts'
import type { ToolDefinition } from '../models/model.ts'
import type { Log } from '../outcome.ts'
import type { McpTool, Retry, Tool } from '../spec.ts'
import type { Step } from '../steps.ts'
import { agentTool } from './agent-tool.ts'
import { argumentProblem } from './argument-problem.ts'
import type { ToolArguments } from './arguments.ts'
import { askPerson } from './ask-person.ts'
import type { MissingGrant } from './connections/connected.ts'
import { httpTool } from './http-tool.ts'
import type { McpServers } from './mcp/mcp-servers.ts'
import { type McpToolset, openMcp } from './mcp/mcp-tool.ts'
import { type CallHeaders, type CallResult, NeedsGrant, type RunTool, ToolError, type ToolWorld } from './tool.ts'

export type Toolbox = {
  definitions: readonly ToolDefinition[]
  call(name: string, args: ToolArguments, headers: CallHeaders): Promise<CallResult>
  /** Whether a call with an unknown outcome can be repeated. */
  retryOf(name: string): Retry
  /** The names of the tools that the caller runs itself. */
  handed: ReadonlySet<string>
  /**
   * What a person must decide before the call is made, or the error for a call that must not be made. Undefined for
   * most calls.
   */
  askFor(name: string, args: ToolArguments, standing: CallState): Promise<Asked | undefined>
  close?: () => Promise<void>
}

/** What people are asked, or why the call is refused for good. */
type Asked = CallAsk | { error: string }

/** What is known about a call that has no result. If it is in doubt, an earlier attempt may have made it. */
type CallState = { isInDoubt: boolean; isDecided: boolean }

const NONE_HANDED: ReadonlySet<string> = new Set()

export const NO_TOOLS: Toolbox = {
  definitions: [],
  handed: NONE_HANDED,
  call: async (name, args) => ({
    error: 'problem' in args ? `${args.problem}: ${args.raw}` : `There is no tool ${name}`,
  }),
  retryOf: () => 'never',
  askFor: async () => undefined,
}

/** The limit of most providers. */
const MAX_TOOLS = 128

/** The limit of all results of one run, which keeps them until it ends and shows them all to the model at each step. */
const MAX_RUN_BYTES = 4 * 1024 * 1024
const TOO_MUCH = { error: `The tool results of this run exceed ${MAX_RUN_BYTES / 1024 / 1024} MiB in total.` }

/**
 * Opens an agent's tools for one run, and what else it can request from its host. If an MCP server can't be used, this
 * is logged and its tools are missing. `before` are the steps of earlier attempts.
 */
export async function openToolbox(
  tools: readonly Tool[],
  hostSteps: readonly RunTool[],
  mcpServers: McpServers,
  world: ToolWorld,
  before: readonly Step[],
): Promise<Toolbox> {
  if (tools.length + hostSteps.length === 0) return NO_TOOLS
  const servers = tools.filter((tool) => tool.type === 'mcp')
  const toolsets = await Promise.all(servers.map((server) => openOrWarn(server, mcpServers, world)))
  const close = async () => {
    await Promise.all(toolsets.map((toolset) => toolset?.close()))
  }

  const byName = new Map(hostSteps.map((step) => [step.definition.name, step]))
  for (const tool of tools) {
    if (tool.type === 'http') byName.set(tool.name, httpTool(tool, world))
    if (tool.type === 'ask_person') byName.set(tool.name, askPerson(tool))
    if (tool.type === 'agent') byName.set(tool.name, agentTool(tool, world.askAgent))
  }
  for (const [name, tool] of mcpNames(toolsets, new Set(byName.keys()))) {
    if (byName.has(name) || byName.size >= MAX_TOOLS) {
      world.log('warn', `Tool ${name} left out: ${byName.has(name) ? 'its name is already used' : 'too many tools'}`)
    } else byName.set(name, { ...tool, definition: { ...tool.definition, name } })
  }

  let answered = before.reduce((bytes, step) => bytes + bytesIn(step), 0)
  const call = async (name: string, args: ToolArguments, headers: CallHeaders): Promise<CallResult> => {
    if (answered > MAX_RUN_BYTES) return TOO_MUCH
    const outcome = await callTool(byName.get(name), { name, args, headers }, world, asksToSignIn)
    if ('error' in outcome) return outcome
    const { result, files: _files, ...left } = outcome
    answered += Buffer.byteLength(result)
    // What the call has spent is counted even if its result is left out.
    return answered > MAX_RUN_BYTES ? { ...left, ...TOO_MUCH } : outcome
  }
  return {
    definitions: [...byName.values()].filter(({ isHidden }) => !isHidden).map((tool) => tool.definition),
    handed: NONE_HANDED,
    call,
    retryOf: (name) => byName.get(name)?.retry ?? 'never',
    async askFor(name, args, standing) {
      const tool = byName.get(name)
      if (!tool || 'problem' in args) return undefined
      const kind = kindOfAsk(tool, args.value, standing)
      return kind ? askAbout(tool, kind, args.value, world) : askToSignIn(tool, args.value, standing, world)
    },
    close,
  }
}

/** The size of a tool's answer. */
function bytesIn(step: Step): number {
  return step.kind === 'tool' && 'result' in step.call ? Buffer.byteLength(step.call.result) : 0
}

/** Offers the caller's tools in addition to the agent's own, whose names a caller can't use. */
export function withCallersTools(own: Toolbox, tools: readonly ToolDefinition[], log: Log): Toolbox {
  const taken = new Set(own.definitions.map(({ name }) => name))
  const offered = tools.filter(({ name }) => !taken.has(name))
  for (const { name } of tools) {
    if (taken.has(name)) log('warn', `Tool ${name} of the caller left out: the agent has a tool with that name`)
  }
  const handed = new Set(offered.map(({ name }) => name))
  return { ...own, definitions: [...own.definitions, ...offered], handed }
}

async function openOrWarn(server: McpTool, mcpServers: McpServers, world: ToolWorld): Promise<McpToolset | undefined> {
  try {
    return await openMcp(server, mcpServers, world)
  } catch (error) {
    // At the deadline, the run's next check ends the run. The other servers must still be closed.
    if (error instanceof ToolError) {
      world.log('warn', 'MCP server skipped', { url: new URL(server.url).origin, error: world.redact(error.message) })
    }
    return undefined
  }
}

/** If two servers, or a server and an HTTP tool, have a tool of the same name, the server's position is added to it. */
function mcpNames(toolsets: readonly (McpToolset | undefined)[], taken: ReadonlySet<string>) {
  const offered = toolsets.flatMap((toolset, position) =>
    (toolset?.tools ?? []).map((tool) => ({ tool, position, name: providerName(tool.definition.name) })),
  )
  const servers = Map.groupBy(offered, ({ name }) => name)
  return offered.map(({ tool, position, name }): [string, RunTool] => {
    const shared = taken.has(name) || new Set(servers.get(name)?.map((other) => other.position)).size > 1
    return [shared ? providerName(`mcp${position + 1}_${name}`) : name, tool]
  })
}

/** Replaces characters that some providers refuse in names. */
function providerName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
}

/**
 * Checks the arguments and makes the call. An error that the model should see becomes the result. `onMissing` is called
 * if the user has to allow more first.
 */
export async function callTool(
  tool: RunTool | undefined,
  { name, args, headers }: { name: string; args: ToolArguments; headers: CallHeaders },
  world: ToolWorld,
  onMissing?: (tool: RunTool, args: Record<string, unknown>, missing: MissingGrant, world: ToolWorld) => Promise<Asked>,
): Promise<CallResult> {
  if ('problem' in args) return { error: `${args.problem}: ${args.raw}` }
  if (!tool) return { error: `There is no tool ${name}` }
  const problem = await argumentProblem(args.value, tool.definition.input_schema, world)
  if (problem) return { error: `Invalid arguments: ${problem}` }
  try {
    return await tool.call(args.value, headers)
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    const failed = { error: world.redact(error.message) }
    if (!onMissing || !(error instanceof NeedsGrant)) return failed
    const asked = await onMissing(tool, args.value, error.missing, world)
    return 'error' in asked ? asked : { ...failed, ask: asked }
  }
}

function kindOfAsk(
  tool: RunTool,
  args: Record<string, unknown>,
  { isInDoubt, isDecided }: CallState,
): AskKind | undefined {
  // Without a decision, no attempt can have made the call: the process may have died before anyone was asked.
  if (!isDecided && needsApproval(tool.approval, args)) return tool.isQuestion ? 'question' : 'tool'
  return isInDoubt && tool.retry === 'ask' ? 'retry' : undefined
}

/**
 * What to ask a person about a call. If its arguments don't fit, no person is asked and the call is refused for good,
 * because the check at the call itself could succeed later if this one only took too long.
 */
async function askAbout(
  { definition: { name, input_schema }, approval }: RunTool,
  kind: AskKind,
  args: Record<string, unknown>,
  world: ToolWorld,
): Promise<Asked> {
  const problem = await argumentProblem(args, input_schema, world)
  if (problem) return { error: `Invalid arguments: ${problem}` }
  return {
    kind,
    tool: name,
    arguments: withoutSecrets(args, world),
    input_schema,
    expires_after_seconds: expiryOf(approval) ?? world.expires_after_seconds,
  }
}

/** The user is asked to sign in to the first connection without a grant. Anything else that is wrong, the call says. */
async function askToSignIn(
  tool: RunTool,
  args: Record<string, unknown>,
  { isInDoubt }: CallState,
  world: ToolWorld,
): Promise<Asked | undefined> {
  // It isn't made, so it needs no token.
  if (isInDoubt && tool.retry === 'never') return undefined
  for (const name of tool.connections ?? []) {
    const found = await world.connections.use(name)
    if (found.state === 'refused') return undefined
    if (found.state === 'ready') continue
    return asksToSignIn(tool, args, found, world)
  }
  return undefined
}

async function asksToSignIn(
  tool: RunTool,
  args: Record<string, unknown>,
  missing: MissingGrant,
  world: ToolWorld,
): Promise<Asked> {
  const asked = await askAbout(tool, 'connection', args, world)
  if ('error' in asked) return asked
  const { connection_id: id, holder, grant_id } = missing
  return { ...asked, connection: { id, holder, grant_id, link: await world.connections.link(missing) } }
}

/**
 * The arguments as a person sees them before deciding. Only the service's own secrets are hidden, not what merely looks
 * like a secret, because a model could disguise part of a command as one.
 */
function withoutSecrets(args: Record<string, unknown>, { redact }: ToolWorld): Record<string, unknown> {
  return JSON.parse(JSON.stringify(args), (_name, value) => (typeof value === 'string' ? redact(value) : value))
}

function expiryOf(approval: ToolApproval): number | null {
  return typeof approval === 'string' ? null : approval.expires_after_seconds
}
