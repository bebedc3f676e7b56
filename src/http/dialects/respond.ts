import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import type { z } from 'zod'
import { ApiError, unavailable } from '../../errors.ts'
import type { Logger } from '../../lib/log.ts'
import { Accepted } from '../../operation/delivery.ts'
import type { Operation } from '../../operation.ts'
import { isOvertaken, isPassing } from '../../storage/failures.ts'
import { BacklogFullError } from '../../storage/journal/journal.ts'
import type { Page, PageQuery } from '../../storage/page.ts'

export type Rendered = {
  status: number
  headers: Record<string, string>
  body: string
  /** In place of a body, sent as they come. */
  lines?: AsyncIterable<string>
}

/** On every reply, whatever it says. */
export function standardHeaders(request_id: string): Record<string, string> {
  return {
    'X-Request-Id': request_id,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': 'application/json; charset=utf-8',
  }
}

/** What `run` returned, through its shape and into its envelope. */
export function render(
  operation: Operation,
  result: unknown,
  { path, paging }: { path: string; paging: unknown },
): Rendered {
  if (result instanceof Accepted && operation.accepted) {
    const headers = { Location: result.location, 'Preference-Applied': 'respond-async' }
    return {
      status: 202,
      headers,
      body: JSON.stringify({ success: true, data: operation.accepted.parse(result.data) }),
    }
  }
  const status = operation.success ?? 200
  if (operation.list) {
    const { items, total } = result as Page<unknown>
    const { limit, offset } = paging as PageQuery
    const data = items.map((item) => operation.list.parse(item))
    const pagination = { limit, offset, total, has_more: offset + items.length < total }
    return { status, headers: {}, body: JSON.stringify({ data, pagination }) }
  }
  if (operation.lines) {
    const lines = jsonLines(operation.lines, result as AsyncIterable<unknown>)
    return { status, headers: { 'Content-Type': 'application/x-ndjson; charset=utf-8' }, body: '', lines }
  }
  const data = operation.data.parse(result)
  const id = status === 201 && (data as { id?: string }).id
  return {
    status,
    headers: id ? { Location: `${path}/${id}` } : {},
    body: JSON.stringify({ success: true, data }),
  }
}

async function* jsonLines(shape: z.ZodType, items: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(shape.parse(item))}\n`
}

export function renderError(error: ApiError, request_id: string): Rendered {
  const { code, message, details, retry_after, status, headers } = error
  const body = {
    success: false,
    error: { code, message, ...(retry_after !== undefined && { retry_after }), ...(details && { details }) },
    request_id,
  }
  return { status, headers, body: JSON.stringify(body) }
}

/** What the client hears of an error that is not meant for it: only that it was not the client's fault. */
export function toApiError(error: unknown, log: Logger, request_id: string): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof BacklogFullError) return unavailable('The service is overloaded, try again shortly', 1000, error)
  if (isPassing(error)) {
    log.error({ request_id, err: error }, 'the database is not available')
    return unavailable('The database is not available, try again shortly', 1000, error)
  }
  if (isOvertaken(error)) {
    log.warn({ request_id, err: error }, 'a request was overtaken by another')
    return unavailable('Something this request needs was changed at the same moment, try again', 1000, error)
  }
  log.error({ request_id, err: error }, 'a request failed')
  return new ApiError('server_error', 'Internal server error')
}

export function send(reply: FastifyReply, { status, headers, body }: Rendered): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

/** The same past Fastify, which would go over every header once more: for what operations answer. */
export function sendRaw(reply: FastifyReply, headers: Record<string, string>, rendered: Rendered): void {
  const { status, headers: own, body } = rendered
  const { raw } = reply.hijack()
  raw.writeHead(status, Object.assign(headers, own, { 'Content-Length': String(Buffer.byteLength(body)) }))
  raw.end(body)
}

/**
 * Lines as they come, no faster than the client reads. An error before the first is an ordinary reply; after that the
 * connection breaks off, so that nobody takes a part for the whole.
 */
export async function sendLines(
  reply: FastifyReply,
  headers: Record<string, string>,
  { status, headers: own, lines = Readable.from([]) }: Rendered,
): Promise<void> {
  const rest = lines[Symbol.asyncIterator]()
  const first = await rest.next()
  const { raw } = reply.hijack()
  raw.writeHead(status, Object.assign(headers, own))
  async function* all() {
    for (let next = first; !next.done; next = await rest.next()) yield next.value
  }
  await pipeline(all, raw).catch(() => raw.destroy())
}
