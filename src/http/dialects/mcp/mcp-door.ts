import * as sdk from '@modelcontextprotocol/server'
import { z } from 'zod'
import { badRequest, forbidden } from '../../../errors.ts'
import { isObject } from '../../../lib/json.ts'
import type { Operation } from '../../../operation.ts'
import { PROTOCOL_LIMITS, parseJson } from '../../input/body.ts'
import type { CallRunner, ReceivedRequest, RenderedReply } from '../dialect.ts'
import { requireShortNames } from '../json-rpc.ts'
import { OperationCalls } from '../operation-calls.ts'
import { failedResult, isForModel, protocolError } from './mcp-errors.ts'
import { McpTasks } from './mcp-tasks.ts'
import { callTool, listTools } from './mcp-tools.ts'

type Message = {
  id?: unknown
  method?: unknown
  params?: { requestId?: unknown; _meta?: { progressToken?: unknown } | null } | null
}

const SESSION = 'mcp-session-id'
const KEEP_ALIVE_MS = 15_000

/**
 * Serves MCP. The official SDK implements the protocol: revisions, handshakes, header checks and streams. It gets one
 * request at a time, and a server object that exists only for that request. A client's requests become calls, which
 * take the same steps as every other request.
 */
export class McpDoor {
  readonly #operations: readonly Operation[]
  /**
   * Active calls of clients of revision 2025-11-25. They cancel with a separate request; later clients close the
   * stream.
   */
  readonly #running = new Map<string, AbortController>()

  constructor(operations: readonly Operation[]) {
    this.#operations = operations
  }

  async serve(method: 'POST' | 'GET', received: ReceivedRequest, calls: CallRunner): Promise<RenderedReply> {
    if (calls.isFromForeignPage) throw forbidden("This page's origin is not listed in security.cors.")
    const gone = new AbortController()
    calls.onHangUp(() => gone.abort())
    if (method === 'GET') return this.#listen(received, calls, gone.signal)

    const message = readMessage(received)
    if (message.method === 'notifications/cancelled') this.#cancel(message.params?.requestId, received, calls)
    const handler = sdk.createMcpHandler(({ era }) => this.#server(era, received, calls), {
      bus: busOf(calls),
      keepAliveMs: KEEP_ALIVE_MS,
    })
    // Such a stream doesn't end by itself.
    const isEndless = message.method === 'subscriptions/listen'
    if (isEndless) calls.stopping.addEventListener('abort', () => void handler.close(), { signal: gone.signal })
    const response = await handler.fetch(requestOf('POST', received, gone.signal), { parsedBody: message })
    const rendered = await render(response)
    // The session has no state. Its ID tells apart the requests of clients that use the same key.
    if (message.method === 'initialize' && response.ok) rendered.headers['Mcp-Session-Id'] = received.request_id
    return rendered
  }

  #server(era: sdk.McpRequestContext['era'], received: ReceivedRequest, runner: CallRunner): sdk.Server {
    const server = new sdk.Server(
      { name: 'moorage', title: 'Moorage', version: '1' },
      { capabilities: { tools: { listChanged: true }, tasks: tasksOffered(runner) } },
    )
    const calls = new OperationCalls(this.#operations, received, runner)
    const refusal = (error: unknown) => protocolError(error, received.request_id)
    const orRefuse = <T>(work: Promise<T>) => work.catch((error) => Promise.reject(refusal(error)))
    server.setRequestHandler('tools/list', ({ params }) => orRefuse(listTools(calls, params?.cursor)))
    if (era === 'legacy') serveTasks(server, new McpTasks(calls), orRefuse)
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      if (era === 'legacy' && 'task' in params) {
        return orRefuse(new McpTasks(calls).create(params.name, params.arguments))
      }
      const { signal, release } = this.#cancellable(era, mcpReq, received, runner)
      const { _meta, notify } = mcpReq
      try {
        return await callTool(calls, params, { signal, progressToken: _meta?.progressToken, notify })
      } catch (error) {
        if (isForModel(error)) return failedResult(error, received.request_id)
        throw refusal(error)
      } finally {
        release()
      }
    })
    return server
  }

  /** A signal that is aborted when the client has disconnected or has cancelled its request. */
  #cancellable(
    era: sdk.McpRequestContext['era'],
    { id, signal }: { id: unknown; signal: AbortSignal },
    received: ReceivedRequest,
    calls: CallRunner,
  ): { signal: AbortSignal; release(): void } {
    const key = runKey(id, received, calls)
    if (era === 'modern' || key === undefined) return { signal, release() {} }
    const cancelled = new AbortController()
    this.#running.set(key, cancelled)
    const release = () => {
      if (this.#running.get(key) === cancelled) this.#running.delete(key)
    }
    return { signal: AbortSignal.any([signal, cancelled.signal]), release }
  }

  #cancel(id: unknown, received: ReceivedRequest, calls: CallRunner): void {
    const key = runKey(id, received, calls)
    if (key !== undefined) this.#running.get(key)?.abort()
  }

  /** Opens the stream that notifies a client of revision 2025-11-25 of changes to the list of tools. */
  async #listen(received: ReceivedRequest, calls: CallRunner, gone: AbortSignal): Promise<RenderedReply> {
    const server = this.#server('legacy', received, calls)
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({ keepAliveMs: KEEP_ALIVE_MS })
    await server.connect(transport)
    const response = await transport.handleRequest(requestOf('GET', received, gone))
    const rendered = await render(response)
    if (!rendered.lines) return rendered
    const forget = calls.onAgentChange(() => void server.sendToolListChanged().catch(() => {}))
    AbortSignal.any([gone, calls.stopping]).addEventListener('abort', () => {
      forget()
      void server.close()
    })
    return { ...rendered, lines: opened(rendered.lines) }
  }
}

function tasksOffered({ agent }: CallRunner) {
  return { cancel: {}, requests: { tools: { call: {} } }, ...(agent && { list: {} }) }
}

const TaskParams = z.looseObject({ taskId: z.string() })
const ListParams = z.looseObject({ cursor: z.string().optional() })

function serveTasks(server: sdk.Server, tasks: McpTasks, orRefuse: <T>(work: Promise<T>) => Promise<T>): void {
  server.setRequestHandler('tasks/get', { params: TaskParams }, ({ taskId }) => orRefuse(tasks.get(taskId)))
  server.setRequestHandler('tasks/cancel', { params: TaskParams }, ({ taskId }) => orRefuse(tasks.cancel(taskId)))
  server.setRequestHandler('tasks/result', { params: TaskParams }, ({ taskId }, { mcpReq }) =>
    orRefuse(tasks.result(taskId, mcpReq.signal)),
  )
  if (!tasks.areListed) return
  server.setRequestHandler('tasks/list', { params: ListParams }, ({ cursor }) => orRefuse(tasks.list(cursor)))
}

function readMessage({ bytes }: ReceivedRequest): Message {
  const message = bytes && parseJson(bytes, PROTOCOL_LIMITS)
  if (!isObject(message)) throw badRequest('The body must be one JSON-RPC message.')
  const { id, params } = message as Message
  const { _meta: meta } = params ?? {}
  requireShortNames(id, meta?.progressToken)
  return message as Message
}

/** The request for the SDK, without the client's key. */
function requestOf(method: string, { message: { headers } }: ReceivedRequest, signal: AbortSignal): Request {
  const shown = Object.entries(headers).filter(([name]) => name !== 'authorization' && name !== 'x-service-otp')
  return new Request('http://mcp', { method, headers: shown as [string, string][], signal })
}

async function render({ status, headers, body }: Response): Promise<RenderedReply> {
  const type = headers.get('content-type')
  const own = type === null ? {} : { 'Content-Type': type }
  if (type?.startsWith('text/event-stream') && body) {
    return { status, headers: { ...own, 'X-Accel-Buffering': 'no' }, body: '', lines: body }
  }
  return { status, headers: own, body: body ? await new Response(body).text() : '' }
}

/** Sends the head of the stream now, because its first message may take a while. */
async function* opened(lines: AsyncIterable<string | Uint8Array>) {
  yield ': open\n\n'
  yield* lines
}

/** Notifies streams of `subscriptions/listen` of a change of an agent. */
function busOf(calls: CallRunner): sdk.ServerEventBus {
  return {
    publish() {},
    subscribe: (listener) => calls.onAgentChange(() => listener({ kind: 'tools_list_changed' })),
  }
}

/** Undefined without a session, because then it's unknown whose request the ID means. */
function runKey(id: unknown, { message: { headers } }: ReceivedRequest, { actor }: CallRunner): string | undefined {
  const session = headers[SESSION]
  return session === undefined ? undefined : JSON.stringify([actor.id, actor.scope.user_id, session, id])
}
