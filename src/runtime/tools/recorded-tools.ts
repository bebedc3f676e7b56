import { isDeepStrictEqual } from 'node:util'
import type { ToolDefinition } from '../models/model.ts'
import type { ToolResult } from '../outcome.ts'
import type { Tool } from '../spec.ts'
import { agentTool, askNoAgent } from './agent-tool.ts'
import { askPerson } from './ask-person.ts'
import { NO_TOOLS, type Toolbox } from './toolbox.ts'

/** A call that an earlier run has made, with its result. */
export type RecordedCall = { name: string; arguments: unknown } & ToolResult

/** What takes the place of a run's tools: calls of an earlier run. */
export type RecordedTools = {
  calls: readonly RecordedCall[]
  /** Called when the model calls something that the earlier run didn't. */
  missed(call: { name: string; arguments: unknown }): void
}

const NOT_RECORDED = { error: 'This call was not made, because its result was never recorded' }

/**
 * Offers an agent's tools and makes no calls: results come from the record. If equal calls were recorded several times,
 * their results are used in order, and further calls get the last one.
 */
export function recordedToolbox(tools: readonly Tool[], { calls, missed }: RecordedTools): Toolbox {
  const definitions = definitionsOf(tools, calls)
  if (definitions.length === 0) return NO_TOOLS
  const used = new Set<RecordedCall>()
  return {
    ...NO_TOOLS,
    definitions,
    retryOf: () => 'safe',
    async call(name, args) {
      const given = 'value' in args ? args.value : args.raw
      const equal = calls.filter((one) => one.name === name && isDeepStrictEqual(one.arguments, given))
      const found = equal.find((one) => !used.has(one)) ?? equal.at(-1)
      if (found) {
        used.add(found)
        return resultOf(found)
      }
      if ('problem' in args) return { error: `${args.problem}: ${args.raw}` }
      missed({ name, arguments: given })
      return NOT_RECORDED
    },
  }
}

function resultOf(call: RecordedCall): ToolResult {
  if ('error' in call) return { error: call.error }
  const { result, files } = call
  return { result, ...(files && { files }) }
}

/** MCP servers aren't asked for their tools, so the model is offered those that were called. */
function definitionsOf(tools: readonly Tool[], calls: readonly RecordedCall[]): ToolDefinition[] {
  const own = tools.flatMap((tool) => definitionOf(tool) ?? [])
  if (!tools.some(({ type }) => type === 'mcp')) return own
  const known = new Set(own.map(({ name }) => name))
  const others = [...new Set(calls.map(({ name }) => name))].filter((name) => !known.has(name))
  return [...own, ...others.map((name) => ({ name, description: '', input_schema: { type: 'object' } }))]
}

function definitionOf(tool: Tool): ToolDefinition | undefined {
  if (tool.type === 'mcp') return undefined
  if (tool.type === 'ask_person') return askPerson(tool).definition
  if (tool.type === 'agent') return agentTool(tool, askNoAgent).definition
  const { name, description, input_schema } = tool
  return { name, description, input_schema }
}
