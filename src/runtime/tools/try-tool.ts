import type { ToolDefinition } from '../models/model.ts'
import type { Tool } from '../spec.ts'
import { agentTool } from './agent-tool.ts'
import { parseArguments } from './arguments.ts'
import { askPerson } from './ask-person.ts'
import { httpTool } from './http-tool.ts'
import { McpServers } from './mcp/mcp-servers.ts'
import { type McpToolset, openMcp } from './mcp/mcp-tool.ts'
import { type RunTool, ToolError, type ToolWorld } from './tool.ts'
import { callTool } from './toolbox.ts'

/** `name` is the tool to call, if an MCP server has several. */
export type TrialToolCall = { name?: string | undefined; arguments: Record<string, unknown> }

/** The tools that the model would be offered, and the call's result. If nothing was called, there is no result. */
export type ToolTrial = { tools: ToolDefinition[]; result: string | null; error: string | null }

/** Opens one tool as a run would, and calls it if requested. No person is asked to approve it. */
export async function tryTool(
  tool: Tool,
  call: TrialToolCall | undefined,
  world: ToolWorld,
  { now, key }: { now: () => number; key: string },
): Promise<ToolTrial> {
  // Opens new connections, because an answer that a server gave a minute ago would test nothing.
  const servers = new McpServers(now)
  let toolset: McpToolset | undefined
  try {
    if (tool.type === 'mcp') toolset = await openMcp(tool, servers, world)
    const offered = toolset?.tools ?? toolsOf(tool, world)
    const tools = offered.map(({ definition }) => definition)
    if (!call) return { tools, result: null, error: null }
    const outcome = await callOne(offered, call, world, key)
    return { tools, result: null, error: null, ...outcome }
  } catch (error) {
    if (error instanceof ToolError) return { tools: [], result: null, error: world.redact(error.message) }
    throw error
  } finally {
    await toolset?.close()
    await servers.close()
  }
}

function toolsOf(tool: Tool, world: ToolWorld): RunTool[] {
  if (tool.type === 'http') return [httpTool(tool, world)]
  if (tool.type === 'agent') return [agentTool(tool, world.askAgent)]
  return tool.type === 'ask_person' ? [askPerson(tool)] : []
}

function callOne(offered: readonly RunTool[], call: TrialToolCall, world: ToolWorld, key: string) {
  const name = call.name ?? (offered.length === 1 ? offered[0]?.definition.name : undefined)
  const found = offered.find(({ definition }) => definition.name === name)
  if (!name) return { error: "Specify which of the server's tools to call" }
  const args = parseArguments(JSON.stringify(call.arguments))
  return callTool(found, { name, args, headers: { 'Idempotency-Key': key } }, world)
}
