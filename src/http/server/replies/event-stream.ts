import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { StreamEvent } from '../../../runtime/transcript.ts'
import type { Dialect } from '../../dialects/dialect.ts'

const PING_MS = 15_000

/**
 * Server-sent events. The head is sent with the first event, so that an error before it is answered with its own
 * status. Events that a slow client has not read yet are kept as the shared objects that everybody who follows the same
 * run gets.
 */
export class EventStream {
  readonly #reply: FastifyReply
  readonly #raw: ServerResponse
  readonly #headers: Record<string, string>
  readonly #dialect: Dialect
  readonly #waiting: StreamEvent[] = []
  #ping: NodeJS.Timeout | undefined
  #ended = false

  constructor(reply: FastifyReply, headers: Record<string, string>, dialect: Dialect) {
    this.#reply = reply
    this.#raw = reply.raw
    this.#headers = headers
    this.#dialect = dialect
  }

  /** Whether the head was sent. Before that, an error is an ordinary reply. */
  get opened(): boolean {
    return this.#ping !== undefined
  }

  /** Sends the head now rather than with the first event. */
  open(): void {
    if (this.#ping) return
    const raw = this.#raw
    this.#reply.hijack()
    raw.writeHead(200, {
      ...this.#headers,
      'Content-Type': 'text/event-stream; charset=utf-8',
      'X-Accel-Buffering': 'no',
    })
    raw.flushHeaders()
    raw.on('drain', () => this.#writeWaiting())
    this.#ping = setInterval(() => raw.writableNeedDrain || raw.write(': ping\n\n'), PING_MS)
    raw.once('close', () => clearInterval(this.#ping))
  }

  send(event: StreamEvent): void {
    this.open()
    this.#waiting.push(event)
    this.#writeWaiting()
  }

  end(): void {
    clearInterval(this.#ping)
    this.#ended = true
    this.#writeWaiting()
  }

  #writeWaiting(): void {
    const raw = this.#raw
    if (raw.destroyed) return
    while (this.#waiting.length > 0 && !raw.writableNeedDrain) {
      raw.write(this.#dialect.event(this.#waiting.shift() as StreamEvent))
    }
    if (this.#ended && this.#waiting.length === 0) raw.end()
  }
}
