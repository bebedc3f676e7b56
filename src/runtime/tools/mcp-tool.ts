import type { CallToolResult, MCPClient } from '@ai-sdk/mcp'
import { storable } from '../../lib/text.ts'
import { fillHeaders, SecretRefused } from '../secrets.ts'
import type { McpTool } from '../spec.ts'
import { schemaProblem } from './input-schema.ts'
import { type Fetch, MAX_RESULT_BYTES, type RunTool, requestError, ToolError, type ToolWorld } from './tool.ts'

const CONNECT_TIMEOUT_MS = 10_000
const GOODBYE_TIMEOUT_MS = 2_000
const MAX_RESPONSE_BYTES = 1024 * 1024
const MAX_PAGES = 10

export type McpConnection = { tools: RunTool[]; close(): Promise<void> }

/** Connects over streamable HTTP and lists the tools; throws ToolError when the server cannot be used. */
export async function connectMcp(tool: McpTool, world: ToolWorld): Promise<McpConnection> {
  const url = new URL(tool.url)
  const wire = boundedWire(world)
  let client: MCPClient | undefined
  try {
    const { createMCPClient } = await import('@ai-sdk/mcp')
    client = await createMCPClient({
      transport: {
        type: 'http',
        url: tool.url,
        headers: fillHeaders(tool.headers, url, world.secrets),
        fetch: wire.fetch,
        redirect: 'error',
      },
      initializationOptions: { signal: world.deadline.signal, timeout: CONNECT_TIMEOUT_MS },
      clientName: 'moorage',
      onUncaughtError: () => {},
    })
    const connected = client
    const tools = await listTools(connected, tool, world)
    return { tools, close: () => wire.close(connected) }
  } catch (error) {
    await wire.close(client)
    if (world.deadline.signal.aborted) throw error
    if (error instanceof SecretRefused) throw new ToolError(error.message)
    throw mcpError(error, url)
  }
}

async function listTools(client: MCPClient, tool: McpTool, world: ToolWorld): Promise<RunTool[]> {
  const options = { signal: world.deadline.signal, timeout: CONNECT_TIMEOUT_MS }
  const allowed = tool.allow && new Set(tool.allow)
  const tools: RunTool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const listed = await client.listTools({ options, ...(cursor ? { params: { cursor } } : {}) })
    for (const { name, description = '', inputSchema } of listed.tools) {
      if (allowed && !allowed.has(name)) continue
      const problem = schemaProblem(inputSchema)
      if (problem) {
        world.log('warn', `Tool ${name} left out: its inputSchema ${problem}`, { url: new URL(tool.url).origin })
        continue
      }
      tools.push({
        definition: {
          name,
          description: world.redact(description).slice(0, 4096),
          input_schema: { ...inputSchema, type: 'object' },
        },
        call: (args) => callTool(client, tool, name, args, world),
      })
    }
    cursor = listed.nextCursor
    if (!cursor) break
  }
  return tools
}

async function callTool(
  client: MCPClient,
  tool: McpTool,
  name: string,
  args: Record<string, unknown>,
  world: ToolWorld,
): Promise<string> {
  let result: CallToolResult
  try {
    const options = { signal: world.deadline.signal, timeout: tool.timeout_ms }
    result = await client.callTool({ name, arguments: args, options })
  } catch (error) {
    if (world.deadline.signal.aborted) throw error
    const failure = mcpError(error, new URL(tool.url))
    throw new ToolError(world.redact(failure.message))
  }
  const text = world.redact(storable(resultText(result)))
  if (Buffer.byteLength(text) > MAX_RESULT_BYTES) {
    throw new ToolError(`The result is larger than ${MAX_RESULT_BYTES / 1024} KiB`)
  }
  if (result.isError) throw new ToolError(text.slice(0, 2_000))
  return text
}

function resultText(result: CallToolResult): string {
  if (!('content' in result) || !Array.isArray(result.content)) return JSON.stringify(result.toolResult ?? null)
  if (result.content.length === 0 && result.structuredContent !== undefined) {
    return JSON.stringify(result.structuredContent)
  }
  return result.content.map(partText).join('\n')
}

function partText(part: { type: string; text?: unknown; resource?: unknown; uri?: unknown }): string {
  if (typeof part.text === 'string') return part.text
  const { text, uri } = (part.resource ?? part) as { text?: unknown; uri?: unknown }
  if (typeof text === 'string') return text
  return typeof uri === 'string' ? `[${part.type} ${uri}]` : `[${part.type}]`
}

/** A JSON-RPC error is the server's word to the model; of anything below it only host and status are told. */
function mcpError(error: unknown, url: URL): ToolError {
  if (error instanceof ToolError) return error
  const { code, statusCode, message } = error as { code?: unknown; statusCode?: unknown; message?: unknown }
  if (typeof code === 'number' && typeof message === 'string') return new ToolError(message.slice(0, 2_000))
  if (typeof statusCode === 'number') return new ToolError(`The MCP server ${url.host} answered HTTP ${statusCode}`)
  if (typeof message === 'string' && message.includes('timed out')) {
    return new ToolError(`The MCP server ${url.host} did not answer in time`)
  }
  return requestError(error, url)
}

/** The client sends its goodbye without a signal; here every request can be ended. */
function boundedWire({ fetch, deadline }: ToolWorld): { fetch: Fetch; close(client?: MCPClient): Promise<void> } {
  const open = new AbortController()
  return {
    async fetch(url, init) {
      // The inbound stream would bring requests of the server to us, which nobody here answers.
      if (init?.method === 'GET') return new Response(null, { status: 405 })
      const isGoodbye = init?.method === 'DELETE'
      const signals = [
        open.signal,
        deadline.signal,
        ...(init?.signal ? [init.signal] : []),
        ...(isGoodbye ? [AbortSignal.timeout(GOODBYE_TIMEOUT_MS)] : []),
      ]
      return capped(await fetch(url, { ...init, signal: AbortSignal.any(signals) }))
    },
    async close(client) {
      await client?.close().catch(() => {})
      open.abort()
    },
  }
}

function capped(response: Response): Response {
  if (!response.body) return response
  let size = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength
      if (size > MAX_RESPONSE_BYTES)
        controller.error(new ToolError(`A response is larger than ${MAX_RESPONSE_BYTES / 1024} KiB`))
      else controller.enqueue(chunk)
    },
  })
  return new Response(response.body.pipeThrough(counter), response)
}
