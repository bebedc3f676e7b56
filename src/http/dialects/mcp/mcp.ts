import { lazilyInTurn, PARTS_OF_MCP } from '../../../lib/lazily.ts'
import type { Operation } from '../../../operation.ts'
import { PROTOCOL_LIMITS, parseJson } from '../../input/body.ts'
import type { Dialect, ReceivedRequest, Route } from '../dialect.ts'
import { renderRpcError } from '../json-rpc.ts'
import { moorage } from '../moorage.ts'
import type { McpDoor } from './mcp-door.ts'

const server = lazilyInTurn(...PARTS_OF_MCP, '@modelcontextprotocol/server')

const PATHS = ['/v1/mcp', '/v1/agents/{agent_id}/mcp']
/** `GET` is for clients of revision 2025-11-25: it opens the stream on which they are notified of changes. */
const METHODS = ['POST', 'GET'] as const

const OWN_PATH = /^\/v1\/(?:agents\/[^/]+\/)?mcp$/

/** The dialect of MCP over streamable HTTP. Agents are tools, and calling a tool is an invocation. */
export const mcp: Dialect = {
  ...moorage,
  name: 'mcp',
  door: 'mcp',
  routes,
  owns: (path) => OWN_PATH.test(path),
  error: renderRpcError,
  isProtectedResource: true,
  namesAgents: true,
}

/** The agent whose tool is called. */
function toolIn({ bytes }: Pick<ReceivedRequest, 'bytes'>): string | undefined {
  const { method, params } = Object(bytes && parseJson(bytes, PROTOCOL_LIMITS)) as {
    method?: unknown
    params?: { name?: unknown } | null
  }
  return method === 'tools/call' && typeof params?.name === 'string' ? params.name : undefined
}

function routes(operations: readonly Operation[]): Route[] {
  const operation = operations.find(({ id }) => id === 'invokeAgent')
  if (!operation) return []
  let door: McpDoor | undefined
  return PATHS.flatMap((path) =>
    METHODS.map((method) => ({
      dialect: mcp,
      operation,
      method,
      path,
      agentIn: toolIn,
      async serve(received, calls) {
        // Loaded for the first client, because many services have none.
        if (!door) {
          await server()
          const { McpDoor } = await import('./mcp-door.ts')
          door ??= new McpDoor(operations)
        }
        return door.serve(method, received, calls)
      },
    })),
  )
}
