import type {
  CallToolResult,
  Client,
  PriorDiscovery,
  StreamableHTTPClientTransport,
  Tool,
} from '@modelcontextprotocol/client'
import { boundedAnswer } from './bounded-answer.ts'
import type { Fetch } from './tool.ts'

const ANSWER_TIMEOUT_MS = 10_000
const GOODBYE_TIMEOUT_MS = 2_000
const MAX_PAGES = 10

export type McpAddress = {
  url: string
  headers: Record<string, string>
  fetch: Fetch
  /** What is known of the server's protocol from an earlier connection: it need not be asked for again. */
  prior: PriorDiscovery | undefined
}

/** A connection to an MCP server over streamable HTTP. One run at a time uses it, and its signal ends every request. */
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
    // Loaded with the first server: most agents have none.
    const sdk = await import('@modelcontextprotocol/client')
    const wire = new Wire(fetch, signal)
    const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
      fetch: wire.fetch,
      requestInit: { headers, redirect: 'manual' },
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 0,
        maxReconnectionDelay: 0,
        reconnectionDelayGrowFactor: 1,
      },
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

  /** What the next connection to this server may take as known. */
  get prior(): PriorDiscovery {
    const discover = this.#client.getDiscoverResult()
    return discover ? { kind: 'modern', discover } : { kind: 'legacy' }
  }

  /** Whether the server may remember what was done over this connection. */
  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined
  }

  /** A new run takes it over. */
  enter(signal: AbortSignal): void {
    this.#wire.signal = signal
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

  callTool(tool: Tool, args: Record<string, unknown>, timeout: number): Promise<CallToolResult> {
    // The result goes to the model as it is, so it is not checked against a schema of the server's own.
    const { outputSchema: _unchecked, ...toolDefinition } = tool
    const request = { name: tool.name, arguments: args }
    return this.#client.callTool(request, { signal: this.#wire.signal, timeout, toolDefinition })
  }

  /** Takes leave of the server, unless the run was stopped: then nothing more is sent. */
  async end(): Promise<void> {
    if (!this.#wire.signal.aborted) {
      this.#wire.signal = AbortSignal.timeout(GOODBYE_TIMEOUT_MS)
      await this.#transport.terminateSession().catch(() => {})
    }
    await this.#client.close().catch(() => {})
  }
}

/** What the client's requests go through: every one can be ended, and no answer is longer than it may be. */
class Wire {
  signal: AbortSignal
  readonly #fetch: Fetch

  constructor(fetch: Fetch, signal: AbortSignal) {
    this.#fetch = fetch
    this.signal = signal
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    // The inbound stream would bring requests of the server to us, which nobody here answers.
    if (init.method === 'GET') return new Response(null, { status: 405 })
    const signals = init.signal ? [this.signal, init.signal] : [this.signal]
    return boundedAnswer(await this.#fetch(url, { ...init, signal: AbortSignal.any(signals) }))
  }
}
