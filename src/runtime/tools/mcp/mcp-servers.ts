import { createHash } from 'node:crypto'
import type { PriorDiscovery, Tool } from '@modelcontextprotocol/client'
import type { McpTool } from '../../spec.ts'
import type { ToolWorld } from '../tool.ts'
import { type McpAddress, type McpCall, McpConnection } from './mcp-connection.ts'

/** What a server has said about itself. */
type ServerDiscovery = { tools: Tool[]; prior: PriorDiscovery; until: number }

type Idle = { key: string; connection: McpConnection; timer: NodeJS.Timeout }

const KEEP_TOOLS_MS = 60_000
const MAX_KNOWN = 500
const KEEP_IDLE_MS = 5 * 60_000
const MAX_IDLE = 100

/** The MCP servers that this process's runs use: their tools, and connections that are kept for the next run. */
export class McpServers {
  readonly #now: () => number
  readonly #known = new Map<string, ServerDiscovery>()
  readonly #idle = new Set<Idle>()
  #isClosed = false

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Starts a run's use of a server, with its headers filled in. Nothing is sent yet. `grant_id` is present if the user
   * has signed in to it: what one user has found there is nothing for another.
   */
  visit({ url }: McpTool, headers: Record<string, string>, world: ToolWorld, grant_id?: string): McpVisit {
    const server = digest([world.agent_id, url, headers, grant_id])
    const remembered = this.#known.get(server)
    const known = remembered && remembered.until > this.#now() ? remembered : undefined
    return new McpVisit({
      address: { url, headers, fetch: world.fetch, prior: known?.prior },
      tools: known?.tools,
      signal: world.deadline.signal,
      isForUser: world.user_id !== undefined,
      take: () => this.#take(digest([server, world.user_id])),
      keep: (connection) => this.#keep(digest([server, world.user_id]), connection),
      learn: (tools, prior) => this.#learn(server, tools, prior),
      forget: () => this.#known.delete(server),
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#idle].map((idle) => this.#drop(idle)))
  }

  #take(key: string): McpConnection | undefined {
    for (const idle of this.#idle) {
      if (idle.key !== key) continue
      this.#idle.delete(idle)
      clearTimeout(idle.timer)
      return idle.connection
    }
    return undefined
  }

  async #keep(key: string, connection: McpConnection): Promise<void> {
    if (this.#isClosed) return connection.end()
    const timer = setTimeout(() => void this.#drop(idle), KEEP_IDLE_MS)
    const idle = { key, connection, timer }
    timer.unref()
    this.#idle.add(idle)
    const [oldest] = this.#idle
    if (oldest && this.#idle.size > MAX_IDLE) await this.#drop(oldest)
  }

  #drop(idle: Idle): Promise<void> {
    this.#idle.delete(idle)
    clearTimeout(idle.timer)
    return idle.connection.end()
  }

  #learn(server: string, tools: Tool[], prior: PriorDiscovery): void {
    this.#known.delete(server)
    const [oldest] = this.#known.keys()
    if (oldest !== undefined && this.#known.size >= MAX_KNOWN) this.#known.delete(oldest)
    this.#known.set(server, { tools, prior, until: this.#now() + KEEP_TOOLS_MS })
  }
}

type VisitOptions = {
  address: McpAddress
  tools: Tool[] | undefined
  signal: AbortSignal
  isForUser: boolean
  take: () => McpConnection | undefined
  keep: (connection: McpConnection) => Promise<void>
  learn: (tools: Tool[], prior: PriorDiscovery) => void
  forget: () => void
}

/** A visit's connection. If it was kept after an earlier run, it may be broken by now. */
type Link = { connection: McpConnection; isReused: boolean; isBroken: boolean; calls: number }

/** One run's use of one server. It connects when the server is first needed. */
export class McpVisit {
  readonly #options: VisitOptions
  #linking: Promise<Link> | undefined

  constructor(options: VisitOptions) {
    this.#options = options
  }

  async listTools(): Promise<Tool[]> {
    const { tools: known, learn } = this.#options
    if (known) return known
    const tools = await this.#ask(
      (connection) => connection.listTools(),
      () => true,
    )
    const { connection } = await this.#link()
    learn(tools, connection.prior)
    return tools
  }

  callTool(call: McpCall, timeout_ms: number) {
    return this.#ask((connection) => connection.callTool(call, timeout_ms), isUnknownSession)
  }

  /**
   * Keeps the connection for the next run, if it still works. A server may remember things about one user, so another
   * user never gets it.
   */
  async leave(): Promise<void> {
    const link = await this.#linking?.catch(() => undefined)
    if (!link) return
    const { connection, isBroken } = link
    const { isForUser, signal, keep } = this.#options
    const mayKeep = !isBroken && !signal.aborted && (isForUser || !connection.hasSession)
    await (mayKeep ? keep(connection) : connection.end())
  }

  /**
   * Asks the server. If a kept connection turns out to be broken, a request that certainly had no effect is repeated
   * over a new one.
   */
  async #ask<T>(question: (connection: McpConnection) => Promise<T>, isSafeToRepeat: (error: unknown) => boolean) {
    for (;;) {
      const linking = this.#link()
      const link = await linking.catch((error: unknown) => {
        if (!isAnswer(error)) this.#options.forget()
        throw error
      })
      link.calls += 1
      try {
        return await question(link.connection)
      } catch (error) {
        if (isAnswer(error)) throw error
        link.isBroken = true
        if (!link.isReused || this.#options.signal.aborted || !isSafeToRepeat(error)) {
          this.#options.forget()
          throw error
        }
        if (this.#linking === linking) this.#linking = undefined
      } finally {
        link.calls -= 1
        // Other calls may still get an answer over this connection and must not be interrupted.
        if (link.calls === 0) {
          link.connection.endAnswers()
          if (this.#linking !== linking) await link.connection.end()
        }
      }
    }
  }

  #link(): Promise<Link> {
    if (this.#linking) return this.#linking
    const linking = this.#connect()
    this.#linking = linking
    linking.catch(() => {
      if (this.#linking === linking) this.#linking = undefined
    })
    return linking
  }

  async #connect(): Promise<Link> {
    const { take, address, signal } = this.#options
    const waiting = take()
    waiting?.enter(signal, address.fetch)
    const connection = waiting ?? (await McpConnection.open(address, signal))
    return { connection, isReused: waiting !== undefined, isBroken: false, calls: 0 }
  }
}

/** A JSON-RPC error is an answer of the server, so the connection works. */
function isAnswer(error: unknown): boolean {
  return typeof (error as { code?: unknown }).code === 'number'
}

/** HTTP 404 means that the server has ended the session and has done nothing. */
function isUnknownSession(error: unknown): boolean {
  return (error as { status?: unknown }).status === 404
}

/** Hashes several parts into one key. Different parts give different keys, and the key reveals no secret in them. */
function digest(parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}
