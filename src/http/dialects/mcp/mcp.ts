import type { Operation } from '../../../operation.ts'
import type { Dialect, Route } from '../dialect.ts'
import { renderRpcError } from '../json-rpc.ts'
import { moorage } from '../moorage.ts'
import type { McpDoor } from './mcp-door.ts'

const PATHS = ['/v1/mcp', '/v1/agents/{agent_id}/mcp']
/** Clients of revision 2025-11-25 hear of changes on a stream that they GET. */
const METHODS = ['POST', 'GET'] as const

const OWN_PATH = /^\/v1\/(?:agents\/[^/]+\/)?mcp$/

/** The dialect of MCP over streamable HTTP. Agents are tools, and a call of a tool is an invocation. */
export const mcp: Dialect = {
  ...moorage,
  name: 'mcp',
  door: 'mcp',
  routes,
  owns: (path) => OWN_PATH.test(path),
  error: renderRpcError,
  isProtectedResource: true,
}

function routes(operations: readonly Operation[]): Route[] {
  const operation = operations.find(({ id }) => id === 'invokeAgent')
  if (!operation) return []
  // Loaded for the first client, because many services have none.
  let door: Promise<McpDoor> | undefined
  const openDoor = async () => new (await import('./mcp-door.ts')).McpDoor(operations)
  return PATHS.flatMap((path) =>
    METHODS.map((method) => ({
      dialect: mcp,
      operation,
      method,
      path,
      async serve(received, calls) {
        door ??= openDoor()
        return (await door).serve(method, received, calls)
      },
    })),
  )
}
