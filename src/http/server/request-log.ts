import type { Socket } from 'node:net'
import type { Logger } from '../../lib/log.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Arrived } from '../pipeline/request.ts'

/** Reports each request to the operator: as a line in the service's own log, and in its telemetry. */
export class RequestLog {
  readonly #log: Logger
  readonly #telemetry: Telemetry
  /**
   * Whether every request is logged. Above the level `info` only failures are, and then the service need not follow
   * every reply to its end, which is costly.
   */
  readonly all: boolean

  constructor({ log, telemetry }: { log: Logger; telemetry: Telemetry }) {
    this.#log = log
    this.#telemetry = telemetry
    this.all = log.isLevelEnabled('info')
  }

  /** Counts a request whose answer is about to be sent. */
  count({ route, started, request_id, span, trace }: Arrived, status: number): void {
    const operation = route?.operation.id ?? 'none'
    this.#telemetry.requests.add(1, operation, String(status))
    this.#telemetry.requestSeconds.add((performance.now() - started) / 1000, operation)
    if (status === 429 && trace.actor) this.#telemetry.projectLimited.add(trace.actor.scope.project_id)
    span?.set({ 'http.response.status_code': status, 'moorage.request_id': request_id })
    // What a client did wrong is no error of the service.
    span?.end(status >= 500 ? String(status) : undefined)
  }

  /** Logs the path of the operation, and never the query: it may hold what people typed. */
  answered(arrived: Arrived, status: number): void {
    const { request_id, message, dialect, route, path, started, trace } = arrived
    const line = {
      request_id,
      door: dialect.door,
      method: message.method,
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
