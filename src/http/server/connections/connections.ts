import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'

/** As many requests may wait on one connection behind the one that is answered. */
const MAX_WAITING = 32

const IDLE_SWEEP_MS = 20

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The open connections of a server. On each of them one request is handled at a time: the next begins when the reply
 * before it has left, so that a client which sends many requests and reads nothing has one reply waiting, not all.
 */
export class Connections {
  readonly #open = new Set<Socket>()
  /** Replies to requests that wait for their turn, by connection; only where some wait. */
  readonly #waiting = new WeakMap<Socket, ServerResponse[]>()
  /** Where a client has not taken all that was written: how much is left, and since when it is as much as that. */
  readonly #stalls = new WeakMap<Socket, { unread: number; since: number }>()
  #stallCheck: NodeJS.Timeout | undefined
  readonly #ending = new WeakSet<Socket>()
  readonly #onFlood: (socket: Socket) => void
  #closing = false

  /** `onFlood` hears of a connection that is dropped because too many requests wait on it. */
  constructor(onFlood: (socket: Socket) => void) {
    this.#onFlood = onFlood
  }

  /** Whether the server is about to close: each connection's next reply is its last. */
  get closing(): boolean {
    return this.#closing
  }

  /** Keeps account of the server's connections, and drops those whose client has read nothing for `stallMs`. */
  watch(server: HttpServer, stallMs: number): void {
    const add = (socket: Socket) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
    }
    // Over TLS there are two for each connection: requests are read from the second.
    server.on('connection', add)
    server.on('secureConnection', add)
    this.#stallCheck = setInterval(() => this.#dropStalled(stallMs), Math.min(stallMs / 4, 5_000)).unref()
  }

  #dropStalled(stallMs: number): void {
    const time = performance.now()
    for (const socket of this.#open) {
      const unread = unreadBytes(socket)
      const stall = this.#stalls.get(socket)
      if (unread === 0) this.#stalls.delete(socket)
      else if (stall?.unread !== unread) this.#stalls.set(socket, { unread, since: time })
      else if (time - stall.since >= stallMs) drop(socket)
    }
  }

  /** The same handler, called when it is the request's turn. */
  inTurn(handle: Handle): Handle {
    return (request, response) => {
      if (this.#closing) response.shouldKeepAlive = false
      // Node gives a reply its socket when those before it have left.
      if (response.socket) handle(request, response)
      else this.#wait(request, response, handle)
    }
  }

  #wait(request: IncomingMessage, response: ServerResponse, handle: Handle): void {
    const { socket } = request
    const waiting = this.#waiting.get(socket) ?? []
    if (waiting.length >= MAX_WAITING) {
      if (!socket.destroyed) this.#onFlood(socket)
      drop(socket)
      return
    }
    waiting.push(response)
    this.#waiting.set(socket, waiting)
    response.once('socket', () => {
      waiting.shift()
      handle(request, response)
    })
  }

  /**
   * Has `answer` end a connection whose next request cannot be read, once every whole request before it is answered. The
   * first such answer counts.
   */
  endWith(socket: Socket, answer: () => void): void {
    if (this.#ending.has(socket)) return
    this.#ending.add(socket)
    const end = () => (socket.writable ? answer() : socket.destroy())
    const last = this.#lastReply(socket)
    if (!last) end()
    else if (last.req.complete) last.once('finish', end)
    // The body of the last request is what cannot be read. Its handler waits for that body, or is not called any more.
    else if (last.socket) end()
    else last.removeAllListeners('socket').once('socket', end)
  }

  #lastReply(socket: Socket): ServerResponse | undefined {
    return this.#waiting.get(socket)?.at(-1) ?? currentReply(socket)
  }

  /**
   * Takes no new connection, and tells clients with their next reply that it is the last. A connection on which nothing
   * comes for `lingerMs` is closed, but not before: a request may be on its way. After `drainMs` all are.
   */
  async close(server: HttpServer, { lingerMs, drainMs }: { lingerMs: number; drainMs: number }): Promise<void> {
    this.#closing = true
    for (const socket of this.#open) {
      const reply = this.#lastReply(socket)
      if (reply) reply.shouldKeepAlive = false
    }
    // Node's own close() would cut idle connections at once.
    const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve()))
    const force = setTimeout(() => this.#closeAll(), drainMs)
    await Promise.race([closed, delay(lingerMs, undefined, { ref: false })])
    server.close()
    const sweep = setInterval(() => this.#closeIdle(server), IDLE_SWEEP_MS)
    this.#closeIdle(server)
    await closed
    clearInterval(sweep)
    clearInterval(this.#stallCheck)
    clearTimeout(force)
  }

  #closeIdle(server: HttpServer): void {
    server.closeIdleConnections()
    // To Node a connection that has not said anything yet is busy.
    for (const socket of this.#open) if (socket.bytesRead === 0) socket.destroy()
  }

  #closeAll(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

/** At once: an orderly end would wait for a client that does not read. */
function drop(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Node keeps the reply that a connection is busy with under this name, and says so nowhere else. */
function currentReply(socket: Socket): ServerResponse | undefined {
  // oxlint-disable-next-line no-underscore-dangle
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
}

/**
 * What was written and the system has not taken yet, because the client does not read. Node measures its own timeouts by
 * it: no public count changes before a write is through.
 */
function unreadBytes(socket: Socket): number {
  // oxlint-disable-next-line no-underscore-dangle
  return (socket as { _handle?: { writeQueueSize: number } | null })._handle?.writeQueueSize ?? 0
}
