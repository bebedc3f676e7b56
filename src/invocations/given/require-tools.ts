import type { Definition } from '../../agents/definition.ts'
import { invalid } from '../../errors.ts'
import type { AskedGiven } from '../../runtime/given.ts'

/** Checks that there is a tool to call, if the caller says that one must be called. */
export function requireTools({ tool_choice, tools: handed = [] }: AskedGiven, definition: Definition): void {
  if (tool_choice === undefined || tool_choice === 'auto' || tool_choice === 'none') return
  const tools = definition.tools
  // Only an MCP server knows the names of its tools.
  if (tools.some(({ type }) => type === 'mcp')) return
  const names = [...handed, ...tools].flatMap((tool) => ('name' in tool ? tool.name : []))
  if (tool_choice === 'required') {
    if (names.length === 0) throw invalid({ field: 'tool_choice', error: 'needs tools, and there are none' })
  } else if (!names.includes(tool_choice.name)) {
    throw invalid({ field: 'tool_choice', error: `names ${tool_choice.name}, which is not among the tools` })
  }
}
