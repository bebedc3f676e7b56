import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { ApiError } from '../../errors.ts'
import { csvOf } from '../../lib/text/csv.ts'
import { formatTime } from '../../lib/time.ts'
import { AcceptedReply, type Mode } from '../../operation/reply-channel.ts'
import type { Deprecation, Operation } from '../../operation.ts'
import type { StreamEvent } from '../../runtime/following/transcript.ts'
import type { Content } from '../../storage/bytes/content.ts'
import type { Page, PageQuery } from '../../storage/queries/page.ts'
import { readBody } from '../input/body.ts'
import { prefers, readIdempotencyKey } from '../input/request-headers.ts'
import { queryReader } from '../input/validate.ts'
import type { Dialect, RenderedReply, Route, SentEvent, Writer } from './dialect.ts'
import { isOpenaiClient, openaiFileQuery, openaiFileWriter } from './openai-files.ts'

/** Replies are JSON in an envelope, and streams are server-sent events. */
export const enveloped: Writer = { reply: render, event: renderEvent, replay: replayEvents }

/** Our own dialect. Each operation has its own method and path. */
export const moorage: Omit<Dialect, 'routes'> & { routes(operations: readonly Operation[]): PathRoute[] } = {
  name: 'moorage',
  door: 'api',
  routes: (operations) =>
    operations.map((operation) => ({
      ...routeTo(operation, moorage, enveloped),
      ...(operation.deprecated && { deprecation: deprecationHeaders(operation.deprecated) }),
    })),
  owns: () => false,
  headers: standardHeaders,
  error: renderError,
}

/** A route that reads requests in our own form. */
export function routeTo(operation: Operation, dialect: Dialect, writer: Writer): PathRoute {
  const { method, path, idempotent } = operation
  const { csv } = operation.answer
  const asCsv = csv === undefined ? undefined : csvWriter(csv, writer)
  const forOpenai = openaiFileWriter(operation, writer)
  const readQuery = queryReader(operation.input?.query ?? z.strictObject({}))
  return {
    dialect,
    operation,
    method,
    path,
    read({ message, query, bytes }) {
      // An upload is received later, after the rest of the request was read.
      const body = operation.input?.upload ? {} : readBody(operation, bytes)
      const isOpenai = forOpenai && isOpenaiClient(message.headers)
      const asked = readQuery(isOpenai && operation.answer.list ? openaiFileQuery(query) : query)
      const isKeyed = idempotent && message.headers['idempotency-key'] !== undefined
      const isCsv = asCsv && wantsCsv(message.headers.accept, asked['format'])
      return {
        body,
        query: asked,
        sent: body,
        mode: modeOf(operation, message.headers),
        last_event_id: message.headers['last-event-id'] as string | undefined,
        idempotencyKey: isKeyed ? readIdempotencyKey(message) : undefined,
        writer: isCsv ? asCsv : isOpenai ? forOpenai : writer,
      }
    },
  }
}

/** RFC 9745 and RFC 8594. */
function deprecationHeaders({ since, sunset }: Deprecation): Record<string, string> {
  return { Deprecation: `@${Date.parse(since) / 1000}`, Sunset: new Date(sunset).toUTCString() }
}

export type PathRoute = Extract<Route, { read: unknown }>

function modeOf({ answer: { streams, accepted } }: Operation, { accept, prefer = '' }: IncomingHttpHeaders): Mode {
  if (streams && (streams.always || prefers(accept, 'text/event-stream'))) return 'stream'
  // RFC 7240.
  return accepted && /(?:^|,)\s*respond-async\s*(?:$|[,;])/i.test(String(prefer)) ? 'background' : 'reply'
}

function standardHeaders(request_id: string): Record<string, string> {
  return {
    'X-Request-Id': request_id,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': 'application/json; charset=utf-8',
  }
}

/** Checks the result of `run` against its shape and puts it into the envelope. */
function render(
  operation: Operation,
  result: unknown,
  { path, paging }: { path: string; paging: unknown },
): RenderedReply {
  if (result instanceof AcceptedReply && operation.answer.accepted) {
    const headers = { Location: result.location, ...(result.asked && { 'Preference-Applied': 'respond-async' }) }
    return {
      status: 202,
      headers,
      body: JSON.stringify({ success: true, data: operation.answer.accepted.parse(result.data) }),
    }
  }
  const status = operation.answer.status ?? 200
  if (operation.answer.list) {
    const page = result as Page<unknown>
    const { data, leftOut } = listed(operation.answer.list, page.items)
    const pagination = paginationOf(page, paging as PageQuery)
    const body = JSON.stringify({ data, pagination })
    return { status, headers: {}, body, ...(leftOut.length > 0 && { leftOut }) }
  }
  if (operation.answer.lines) {
    const lines = jsonLines(operation.answer.lines, result as AsyncIterable<unknown>)
    return { status, headers: { 'Content-Type': 'application/x-ndjson; charset=utf-8' }, body: '', lines }
  }
  if (operation.answer.content) return { status, headers: {}, body: '', content: result as Content }
  const data = operation.answer.data.parse(result)
  const id = status === 201 && (data as { id?: string }).id
  return {
    status,
    headers: id ? { Location: `${path}/${id}` } : {},
    body: JSON.stringify({ success: true, data }),
  }
}

/** Checks items one by one, because one stored item that doesn't fit its shape must not hide all others. */
function listed(shape: z.ZodType, items: readonly unknown[]) {
  const data: unknown[] = []
  const leftOut: NonNullable<RenderedReply['leftOut']> = []
  for (const item of items) {
    const read = shape.safeParse(item)
    if (read.success) data.push(read.data)
    else {
      const { id, request_id } = Object(item) as { id?: unknown; request_id?: unknown }
      const lines = z.prettifyError(read.error).split('\n')
      leftOut.push({ id: id ?? request_id, problem: lines.map((line) => line.trim()).join(' ') })
    }
  }
  return { data, leftOut }
}

function paginationOf({ items, total, searched_to, next }: Page<unknown>, { limit, offset }: PageQuery) {
  const has_more = offset + items.length < total
  if (next) return { limit, offset, total, has_more: has_more || next.more, next_after: next.after }
  // A page of large items may have ended early, and the next one starts at offset + limit.
  const shown = has_more && items.length > 0 ? items.length : limit
  if (searched_to === undefined) return { limit: shown, offset, total, has_more }
  // There may be more items beyond those that were searched. A page after the last one reports no more, so that a
  // client that keeps requesting pages stops.
  const mayHaveMore = has_more || items.length > 0 || offset === 0
  return { limit: shown, offset, total, has_more: mayHaveMore, searched_to: formatTime(searched_to) }
}

async function* jsonLines(shape: z.ZodType, items: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(shape.parse(item))}\n`
}

function renderError(error: ApiError, request_id: string): RenderedReply {
  const { code, message, details, retry_after, status, headers } = error
  const body = {
    success: false,
    error: { code, message, ...(retry_after !== undefined && { retry_after }), ...(details && { details }) },
    request_id,
  }
  return { status, headers, body: JSON.stringify(body) }
}

function renderEvent({ id, event, data }: SentEvent): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${id === null ? '' : `id: ${id}\n`}event: ${event}\ndata: ${text}\n\n`
}

function replayEvents({ answer: { streams } }: Operation, { body }: RenderedReply): StreamEvent[] {
  return streams?.replay?.((JSON.parse(body) as { data: never }).data) ?? []
}

/** Whether the client wants the items of a reply as CSV. */
function wantsCsv(accept: string | undefined, format: unknown): boolean {
  return format === 'csv' || (format === undefined && prefers(accept, 'text/csv'))
}

/** Writes the items in one field of the reply as CSV. */
function csvWriter(field: string, writer: Writer): Writer {
  return {
    ...writer,
    reply(operation, result) {
      const shape = operation.answer.data as z.ZodObject
      const rows = (shape.parse(result) as Record<string, Record<string, unknown>[]>)[field] ?? []
      const names = Object.keys(rows[0] ?? namesIn(shape, field))
      const body = csvOf(rows, names)
      return { status: operation.answer.status ?? 200, headers: { 'Content-Type': 'text/csv; charset=utf-8' }, body }
    },
  }
}

/** The columns that every item has. */
function namesIn(shape: z.ZodObject, field: string): object {
  const items = shape.shape[field]
  const item = items instanceof z.ZodArray ? items.element : undefined
  const fields = item instanceof z.ZodObject ? Object.entries(item.shape) : []
  return Object.fromEntries(fields.filter(([, value]) => !(value instanceof z.ZodOptional)))
}
