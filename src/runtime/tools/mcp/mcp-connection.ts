import type {
  CallToolResult,
  Client,
  PriorDiscovery,
  StreamableHTTPClientTransport,
  Tool,
} from '@modelcontextprotocol/client'
import { lazilyInTurn, PARTS_OF_MCP } from '../../../lib/lazily.ts'
import { type CallHeaders, type Fetch, ToolError } from '../tool.ts'

const mcp = lazilyInTurn<typeof import('@modelcontextprotocol/client')>(...PARTS_OF_MCP, '@modelcontextprotocol/client')

const ANSWER_TIMEOUT_MS = 10_000
const GOODBYE_TIMEOUT_MS = 2_000
const MAX_PAGES = 10

/**
 * A server can close the stream of an answer, say when to reconnect, and continue there. These are the waits if it
 * doesn't say when. The call's time limit applies to all of it.
 */
const RESUMPTION = {
  maxRetries: 5,
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
}

export type McpAddress = {
  url: string
  headers: Record<string, string>
  fetch: Fetch
  /** What an earlier connection learned about the server's protocol, so that it isn't requested again. */
  prior: PriorDiscovery | undefined
}

export type McpCall = { tool: Tool; args: Record<string, unknown>; headers: CallHeaders }

/**
 * A connection to an MCP server over streamable HTTP. Only one run uses it at a time, and that run's signal ends every
 * request.
 */
export class McpConnection {
  readonly #client: Client
  readonly #transport: StreamableHTTPClientTransport
  readonly #wire: Wire

  private constructor(client: Client, transport: StreamableHTTPClientTransport, wire: Wire) {
    this.#client = client
    this.#transport = transport
    this.#wire = wire
  }

  static async open({ url, headers, fetch, prior }: McpAddress, signal: AbortSignal): Promise<McpConnection> {
    // Loaded for the first server, because most agents have no MCP servers.
    const sdk = await mcp()
    const wire = new Wire(fetch, signal)
    const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
      fetch: wire.fetch,
      requestInit: { headers, redirect: 'manual' },
      reconnectionOptions: RESUMPTION,
    })
    const client = new sdk.Client({ name: 'moorage', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    const connection = new McpConnection(client, transport, wire)
    try {
      await client.connect(transport, { signal, timeout: ANSWER_TIMEOUT_MS, ...(prior && { prior }) })
      return connection
    } catch (error) {
      await connection.end()
      throw error
    }
  }

  /** What the next connection to this server doesn't need to request again. */
  get prior(): PriorDiscovery {
    const discover = this.#client.getDiscoverResult()
    return discover ? { kind: 'modern', discover } : { kind: 'legacy' }
  }

  /** Whether the server may remember what was done over this connection. */
  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined
  }

  /** Assigns the connection to a new run. */
  enter(signal: AbortSignal, fetch: Fetch): void {
    this.#wire.signal = signal
    this.#wire.send = fetch
  }

  async listTools(): Promise<Tool[]> {
    if (!this.#client.getServerCapabilities()?.tools) return []
    const tools: Tool[] = []
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const request = { method: 'tools/list' as const, params: cursor === undefined ? {} : { cursor } }
      const listed = await this.#client.request(request, { signal: this.#wire.signal, timeout: ANSWER_TIMEOUT_MS })
      tools.push(...listed.tools)
      cursor = listed.nextCursor
      if (!cursor) break
    }
    return tools
  }

  callTool({ tool, args, headers }: McpCall, timeout: number): Promise<CallToolResult> {
    // The result goes to the model unchanged, so it isn't checked against the server's own schema.
    const { outputSchema: _unchecked, ...toolDefinition } = tool
    const request = { name: tool.name, arguments: args }
    const options = { signal: this.#wire.signal, timeout, toolDefinition, headers: { ...headers } }
    return this.#client.callTool(request, options)
  }

  /** Every call has its answer. A server could keep the streams open that the answers came in, one for each call. */
  endAnswers(): void {
    this.#wire.endAnswers()
  }

  /** Closes the session with the server. If the run was stopped, nothing more is sent. */
  async end(): Promise<void> {
    if (!this.#wire.signal.aborted) {
      this.#wire.signal = AbortSignal.timeout(GOODBYE_TIMEOUT_MS)
      await this.#transport.terminateSession().catch(() => {})
    }
    await this.#client.close().catch(() => {})
  }
}

/** The transport of the client's requests. Each request can be ended, and no answer can be too long. */
class Wire {
  signal: AbortSignal
  send: Fetch
  readonly #answers = new Set<AbortController>()

  constructor(fetch: Fetch, signal: AbortSignal) {
    this.send = fetch
    this.signal = signal
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    // A GET resumes an answer. Without a last event, it would only open a stream of requests from the server, and we
    // don't answer those.
    const isResumed = new Headers(init.headers).has('last-event-id')
    if (init.method === 'GET' && !isResumed) return new Response(null, { status: 405 })
    const answer = new AbortController()
    const signals = [this.signal, answer.signal, ...(init.signal ? [init.signal] : [])]
    const response = await this.send(url, { ...init, signal: AbortSignal.any(signals) })
    this.#answers.add(answer)
    return boundedAnswer(response)
  }

  endAnswers(): void {
    for (const answer of this.#answers) answer.abort()
    this.#answers.clear()
  }
}

const MAX_BYTES = 1024 * 1024
/** The MCP client needs some microseconds to check each field of an object. */
const MAX_FIELDS = 20_000
const MAX_DEPTH = 128

const LINE_END = 0x0a
const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** Limits an answer that is JSON, or a stream of JSON events. Its body fails when it becomes too large. */
function boundedAnswer(response: Response): Response {
  if (!response.body) return response
  const count = new AnswerCount()
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const problem = count.add(chunk)
      if (problem) controller.error(new ToolError(problem))
      else controller.enqueue(chunk)
    },
  })
  return new Response(response.body.pipeThrough(counter), response)
}

class AnswerCount {
  #bytes = 0
  #fields = 0
  #depth = 0
  #isInText = false
  #isEscaped = false

  /** Says which limit is exceeded, or returns undefined. */
  add(chunk: Uint8Array): string | undefined {
    this.#bytes += chunk.byteLength
    for (const byte of chunk) this.#read(byte)
    if (this.#bytes > MAX_BYTES) return `A response is larger than ${MAX_BYTES / 1024} KiB`
    if (this.#fields > MAX_FIELDS) return `A response has more than ${MAX_FIELDS} fields`
    return this.#depth > MAX_DEPTH ? `A response is nested deeper than ${MAX_DEPTH} levels` : undefined
  }

  #read(byte: number): void {
    // A JSON string can't contain a line break, so a string that isn't closed ends here.
    if (byte === LINE_END) this.#isInText = this.#isEscaped = false
    else if (this.#isEscaped) this.#isEscaped = false
    else if (byte === QUOTE) this.#isInText = !this.#isInText
    else if (this.#isInText) this.#isEscaped = byte === BACKSLASH
    else if (byte === COLON) this.#fields += 1
    else if (OPENING.has(byte)) this.#depth += 1
    else if (CLOSING.has(byte) && this.#depth > 0 && this.#depth <= MAX_DEPTH) this.#depth -= 1
  }
}
