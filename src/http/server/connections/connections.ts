import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import { setImmediate as nextPass } from 'node:timers/promises'
import { TLSSocket, Server as TlsServer } from 'node:tls'
import { waitAtMost } from '../../../lib/work/wait-at-most.ts'
import { addressBucket } from '../../../security/ip-list.ts'

// An import would read everything that the module exports, which loads Node's web client and takes long.
const { IncomingMessage: NodeRequest } = process.getBuiltinModule('node:http')

/** How many requests can wait on one connection behind the one in progress. */
const MAX_WAITING = 32

const IDLE_SWEEP_MS = 20

const SMALL_BYTES = 1_024
/** A body with more small chunks than this takes turns with other work. Ordinary bodies have fewer. */
const SMALL_CHUNKS = 1_000

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The open connections of a server. Each connection handles one request at a time, and the next request starts when the
 * reply to the previous one has been sent. So a client that sends many requests but reads nothing has only one reply
 * waiting.
 */
export class Connections {
  readonly #open = new Set<Socket>()
  /** The sockets from which requests are read, by the client's address. */
  readonly #byAddress = new Map<string, Set<Socket>>()
  /**
   * The replies to requests that wait behind another one, by connection. Connections without waiting requests have no
   * entry.
   */
  readonly #waiting = new WeakMap<Socket, ServerResponse[]>()
  /**
   * Connections whose client hasn't read everything, with the number of unread bytes and the time since which that
   * number hasn't changed.
   */
  readonly #stalls = new WeakMap<Socket, { unread: number; since: number }>()
  #stallCheck: NodeJS.Timeout | undefined
  readonly #ending = new WeakSet<Socket>()
  /** Called with a connection that is closed because too many requests wait on it. */
  onFlood: (socket: Socket) => void = () => {}
  #closing = false

  /** Whether the server is closing. Each connection's next reply is then its last. */
  get closing(): boolean {
    return this.#closing
  }

  /** Tracks the server's connections, and closes those whose client has read nothing for `stallMs`. */
  watch(server: HttpServer, stallMs: number): void {
    const add = (socket: Socket) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
    }
    // A TLS connection has two sockets. Requests are read from the second one.
    server.on('connection', add)
    server.on('secureConnection', add)
    server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket) => this.#count(socket))
    this.#stallCheck = setInterval(() => this.#dropStalled(stallMs), Math.min(stallMs / 4, 5_000)).unref()
  }

  #count(socket: Socket): void {
    const address = bucketOf(socket)
    const sockets = this.#byAddress.get(address) ?? new Set()
    this.#byAddress.set(address, sockets.add(socket))
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0 && this.#byAddress.get(address) === sockets) this.#byAddress.delete(address)
    })
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

  /** Returns a handler that starts a request when the requests before it on its connection are answered. */
  oneAtATime(handle: Handle): Handle {
    return (request, response) => {
      if (this.#closing) response.shouldKeepAlive = false
      // Node gives a reply its socket when the earlier replies on the connection have been sent. Node emits a request
      // while it is still parsing. With setImmediate, bytes after the request that turn out to be broken are noticed
      // before it is handled.
      if (response.socket) setImmediate(handle, request, response)
      else this.#wait(request, response, handle)
    }
  }

  #wait(request: IncomingMessage, response: ServerResponse, handle: Handle): void {
    const { socket } = request
    const waiting = this.#waiting.get(socket) ?? []
    if (waiting.length >= MAX_WAITING) {
      if (!socket.destroyed) this.onFlood(socket)
      drop(socket)
      return
    }
    waiting.push(response)
    this.#waiting.set(socket, waiting)
    response.once('socket', () => {
      waiting.shift()
      setImmediate(handle, request, response)
    })
  }

  /**
   * Makes room for a new connection when there are too many: closes an idle connection of the address that has the
   * most. Returns false if no address has more connections than the newcomer's, or if all of them are busy.
   */
  makeRoom(newcomer: Socket): boolean {
    const own = this.#byAddress.get(bucketOf(newcomer))?.size ?? 0
    let most = new Set<Socket>()
    for (const sockets of this.#byAddress.values()) if (sockets.size > most.size) most = sockets
    const idle = most.size > own + 1 ? most.values().find((socket) => !this.#lastReply(socket)) : undefined
    if (idle) drop(idle)
    return idle !== undefined
  }

  /**
   * Ends a connection whose next request can't be read. Calls `answer` when all complete requests before that one have
   * been answered. Only the first call for a connection has an effect.
   */
  endWith(socket: Socket, answer: () => void): void {
    if (this.#ending.has(socket)) return
    this.#ending.add(socket)
    const end = () => (socket.writable ? answer() : socket.destroy())
    const last = this.#lastReply(socket)
    if (!last) end()
    // The reply was sent before its request was read completely. A second reply would belong to no request.
    else if (last.headersSent && !last.req.complete) socket.destroy()
    else if (last.req.complete) last.once('finish', end)
    // The unreadable part is the body of the last request. Its handler either waits for that body, or will no longer be
    // called.
    else if (last.socket) end()
    else last.removeAllListeners('socket').once('socket', end)
  }

  #lastReply(socket: Socket): ServerResponse | undefined {
    return this.#waiting.get(socket)?.at(-1) ?? currentReply(socket)
  }

  /** Tells clients in their next reply that the connection will close. New connections are still accepted. */
  beginClosing(): void {
    this.#closing = true
    for (const socket of this.#open) {
      const reply = this.#lastReply(socket)
      if (reply) reply.shouldKeepAlive = false
    }
  }

  /**
   * Accepts no new connections. An open connection is closed once nothing has arrived for `lingerMs`, but not earlier,
   * because a request may be on its way. After `drainMs`, every connection is closed.
   */
  async close(server: HttpServer, { lingerMs, drainMs }: { lingerMs: number; drainMs: number }): Promise<void> {
    this.beginClosing()
    // Node's own close() would close idle connections immediately.
    const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve()))
    const force = setTimeout(() => this.#closeAll(), drainMs)
    await waitAtMost(closed, lingerMs)
    // Requests that have already arrived are read by the end of this pass, so their connections aren't idle any more.
    await nextPass()
    server.close()
    const sweep = setInterval(() => setImmediate(() => this.#closeIdle(server)), IDLE_SWEEP_MS)
    this.#closeIdle(server)
    await closed
    clearInterval(sweep)
    clearInterval(this.#stallCheck)
    clearTimeout(force)
  }

  #closeIdle(server: HttpServer): void {
    server.closeIdleConnections()
    // Node treats a connection on which nothing has arrived yet as busy.
    for (const socket of this.#open) if (socket.bytesRead === 0) socket.destroy()
  }

  #closeAll(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

/** Closes the connection immediately, because an orderly end would wait for a client that doesn't read. */
function drop(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}

function bucketOf({ remoteAddress = '' }: Socket): string {
  return addressBucket(remoteAddress)
}

/** The reply that a connection is currently sending. Node keeps it under this name, and there is no public property. */
function currentReply(socket: Socket): ServerResponse | undefined {
  // oxlint-disable-next-line no-underscore-dangle
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
}

/**
 * How many written bytes the system hasn't accepted yet because the client doesn't read. Node's own timeouts use this
 * number. Public counters change only when a write is complete.
 */
function unreadBytes(socket: Socket): number {
  // oxlint-disable-next-line no-underscore-dangle
  return (socket as { _handle?: { writeQueueSize: number } | null })._handle?.writeQueueSize ?? 0
}

/**
 * A request whose body takes turns with other requests even if every chunk is a single byte. Node counts only bytes, so
 * it would read two megabytes of such chunks in one pass of the event loop. This class reads the socket once per pass
 * and passes on the data as one piece.
 */
export class FairBody extends NodeRequest {
  #smallChunks = 0
  #waiting: Buffer[] = []

  /** Node calls this with each chunk that it has read, and stops reading if this returns false. */
  override push(chunk: Buffer | null): boolean {
    if (chunk !== null && chunk.length < SMALL_BYTES) this.#smallChunks += 1
    if (chunk === null || this.#smallChunks <= SMALL_CHUNKS) {
      if (this.#waiting.length > 0) this.#handOn()
      return super.push(chunk)
    }
    this.#waiting.push(chunk)
    if (this.#waiting.length === 1) setImmediate(() => this.#goOn())
    return false
  }

  /** Node calls this to continue reading when the body is consumed. */
  override _read(size: number): void {
    // oxlint-disable-next-line no-underscore-dangle
    if (this.#waiting.length === 0) super._read(size)
  }

  #goOn(): void {
    if (this.#waiting.length > 0) this.#handOn()
    if (this.readableLength < this.readableHighWaterMark) this.socket.resume()
  }

  #handOn(): void {
    const piece = Buffer.concat(this.#waiting)
    this.#waiting = []
    super.push(piece)
  }
}
