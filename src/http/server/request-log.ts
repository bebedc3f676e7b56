import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Logger } from '../../lib/log.ts'

/** Writes a line to the service's own log for each request. */
export class RequestLog {
  readonly #log: Logger
  /**
   * Whether every request is logged. Above the level `info` only failures are, and then the service need not follow
   * every reply to its end, which is costly.
   */
  readonly all: boolean

  constructor(log: Logger) {
    this.#log = log
    this.all = log.isLevelEnabled('info')
  }

  /** Logs the path of the operation, and never the query: it may hold what people typed. */
  answered({ method, arrived }: FastifyRequest, status: number): void {
    const { request_id, route, path, started, trace } = arrived
    const line = {
      request_id,
      method,
      path: route?.path ?? path.slice(0, 200),
      status,
      ms: Math.round((performance.now() - started) * 10) / 10,
      actor: trace.actor?.id,
      agent: trace.agent_id ?? undefined,
    }
    this.#log[status >= 500 ? 'error' : 'info'](line, 'request')
  }

  /** Logs a request that the router never saw. */
  unreadable(socket: Socket, request_id: string, status: number): void {
    this.#log.info({ request_id, status, address: socket.remoteAddress }, 'request that cannot be read')
  }

  flood(socket: Socket): void {
    this.#log.info({ address: socket.remoteAddress }, 'a connection was dropped: too many requests waited on it')
  }
}
