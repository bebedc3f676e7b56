import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { readBody, startLocalServer } from './local-server.ts'

export type McpServerTool = {
  name: string
  description?: string
  inputSchema?: Record<string, unknown>
  /** Returns the text of the result. If it throws, the result is an error. */
  call?: (args: Record<string, unknown>, headers: IncomingHttpHeaders) => string
  /** Replaces the text of the result. */
  content?: object[]
  /** Never answers. */
  silent?: boolean
  /** Answers with a stream, and never closes it. */
  staysOpen?: boolean
  /** Answers with this status. */
  status?: number
}

type RpcMessage = {
  id?: number | string
  method: string
  params?: { name?: string; arguments?: Record<string, unknown> }
}

export type McpServer = {
  url: string
  host: string
  /** The called methods, in order. `DELETE` is the end of a session. */
  seen: { method: string; headers: IncomingHttpHeaders }[]
  /** Ends every session, so requests that name one get 404. */
  forget(): void
  /** Requests whose connection is still open. */
  open(): number
  close(): Promise<void>
}

type McpServerOptions = {
  hasSessions?: boolean
  /** Undefined for a request that may pass; otherwise what it is told with 401, or with 403 if its scopes are too few. */
  challenge?: (headers: IncomingHttpHeaders, tool?: string, method?: string) => string | undefined
}

/** A small MCP server of revision 2025-11-25 over streamable HTTP, with an inbound stream and, by default, sessions. */
export async function startMcpServer(
  tools: readonly McpServerTool[],
  { hasSessions = true, challenge }: McpServerOptions = {},
): Promise<McpServer> {
  const seen: McpServer['seen'] = []
  const sessions = new Set<unknown>()
  let begun = 0
  let open = 0

  const server = await startLocalServer(async (request, response) => {
    open += 1
    response.on('close', () => {
      open -= 1
    })
    const { method = '', headers } = request
    const message = method === 'POST' ? (JSON.parse(await readBody(request)) as RpcMessage) : undefined
    const refusal = challenge?.(headers, message?.params?.name, message?.method)
    if (refusal !== undefined) {
      const status = refusal.includes('insufficient_scope') ? 403 : 401
      return void response.writeHead(status, { 'www-authenticate': refusal }).end()
    }
    if (method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      return
    }
    if (!message) {
      seen.push({ method, headers })
      response.writeHead(200).end()
      return
    }
    seen.push({ method: message.method, headers })
    const session = headers['mcp-session-id']
    if (session !== undefined && !sessions.has(session)) {
      response.writeHead(404).end()
      return
    }
    if (hasSessions && message.method === 'initialize') {
      begun += 1
      sessions.add(`session-${begun}`)
      response.setHeader('mcp-session-id', `session-${begun}`)
    }
    respond(response, message, headers, tools)
  })

  return {
    url: `${server.url}/mcp`,
    host: server.host,
    seen,
    forget: () => sessions.clear(),
    open: () => open,
    close: server.close,
  }
}

function respond(
  response: ServerResponse,
  message: RpcMessage,
  headers: IncomingHttpHeaders,
  tools: readonly McpServerTool[],
) {
  if (message.id === undefined) {
    response.writeHead(202).end()
    return
  }
  const send = (body: object) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body }))
  }
  if (message.method === 'initialize') send({ result: INITIALIZED })
  else if (message.method === 'tools/list') send({ result: { tools: tools.map(definition) } })
  else if (message.method === 'tools/call') {
    const tool = tools.find(({ name }) => name === message.params?.name)
    if (!tool) send({ error: { code: -32_602, message: 'No such tool' } })
    else if (tool.status) response.writeHead(tool.status).end()
    else if (tool.staysOpen) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const result = callResult(tool, message.params?.arguments ?? {}, headers)
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n\n`)
    } else if (!tool.silent) send({ result: callResult(tool, message.params?.arguments ?? {}, headers) })
  } else send({ error: { code: -32_601, message: 'Method not found' } })
}

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'test', version: '1.0.0' },
}

function definition({ name, description = '', inputSchema = { type: 'object' } }: McpServerTool) {
  return { name, description, inputSchema }
}

function callResult(tool: McpServerTool, args: Record<string, unknown>, headers: IncomingHttpHeaders) {
  try {
    const text = tool.call?.(args, headers) ?? ''
    return { content: tool.content ?? [{ type: 'text', text }] }
  } catch (error) {
    return { content: [{ type: 'text', text: (error as Error).message }], isError: true }
  }
}
