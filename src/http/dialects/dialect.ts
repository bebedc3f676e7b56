import type { IncomingHttpHeaders } from 'node:http'
import type { ApiError } from '../../errors.ts'
import type { Operation } from '../../operation.ts'
import type { StreamEvent } from '../../runtime/following/transcript.ts'

/** A reply as it goes to the client. */
export type Rendered = {
  status: number
  headers: Record<string, string>
  body: string
  /** Lines that are sent as they come, instead of a body. */
  lines?: AsyncIterable<string>
}

/**
 * The way in which one kind of client speaks with us. A dialect says how a request becomes an operation's input, and
 * how a reply, an error and an event of a stream are written. It does not decide what a client may do.
 */
export type Dialect = {
  name: string
  routes(operations: readonly Operation[]): Route[]
  /** The credentials of the request, in the form of an Authorization header. */
  authorization(headers: IncomingHttpHeaders): string | undefined
  /** The headers that every reply has. */
  headers(request_id: string): Record<string, string>
  /** `result` is what the operation returned; `path` and `paging` are what the request asked for. */
  reply(operation: Operation, result: unknown, asked: { path: string; paging: unknown }): Rendered
  /** The data of a reply that was rendered before. */
  dataOf(reply: Rendered): unknown
  error(error: ApiError, request_id: string): Rendered
  event(event: StreamEvent): string
}

/** A method and a path of a dialect, the operation behind them, and how its input is read. */
export type Route = {
  dialect: Dialect
  operation: Operation
  method: string
  /** With parameters in braces. */
  path: string
  /** The body as the operation expects it; its shape is checked later. */
  readBody(bytes: Buffer | undefined): unknown
  readQuery(raw: string): Record<string, unknown>
}
