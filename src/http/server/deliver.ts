import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Delivery, type Mode, PLAIN_REPLY } from '../../operation/delivery.ts'
import { renderError, send, sendLines, sendRaw, toApiError } from '../dialects/respond.ts'
import { EventStream } from '../dialects/stream.ts'
import type { Exchange, Route } from '../pipeline/exchange.ts'
import { isReplay } from '../pipeline/idempotency.ts'
import type { Front } from './front.ts'

/** A request that has been let in, and the reply that it gets. */
type Asked = { exchange: Exchange; route: Route; reply: FastifyReply }

/** Runs the operation and sends its answer as the client wants it: as one reply or as a stream of events. */
export function deliver(front: Front, asked: Asked): Promise<void> {
  return wantsStream(asked) ? deliverStream(front, asked) : deliverReply(front, asked)
}

async function deliverReply({ steps }: Front, { exchange, route, reply }: Asked): Promise<void> {
  const { request, headers } = exchange
  const mode: Mode = route.operation.accepted && prefersAsync(request) ? 'background' : 'reply'
  const onHangUp = route.operation.streams && mode === 'reply' ? hangUpOf(reply) : undefined
  const rendered = await steps.run(exchange, route, bodyOf(request), { ...PLAIN_REPLY, mode, onHangUp })
  if (rendered.lines) await sendLines(reply, headers, rendered)
  else sendRaw(reply, headers, rendered)
}

async function deliverStream({ edge, steps }: Front, { exchange, route, reply }: Asked): Promise<void> {
  const { request, request_id, headers } = exchange
  const stream = new EventStream(reply, headers)
  try {
    const rendered = await steps.run(exchange, route, bodyOf(request), streamDelivery(stream, reply, request))
    const { status, headers: sent, body } = rendered
    if (status === 202) {
      send(reply.headers(headers), rendered)
      return
    }
    // A repeated answer brings no events of its own.
    if (isReplay(sent)) {
      Object.assign(headers, sent)
      const { data } = JSON.parse(body) as { data: never }
      for (const event of route.operation.streams?.replay?.(data) ?? []) stream.send(event)
    }
    stream.send({ id: 'done', event: 'done', data: body })
  } catch (error) {
    if (!stream.opened) throw error
    const { body } = renderError(toApiError(error, edge.parts.log, request_id), request_id)
    stream.send({ id: 'done', event: 'error', data: body })
  }
  stream.end()
}

function streamDelivery(stream: EventStream, reply: FastifyReply, { headers }: FastifyRequest): Delivery {
  return {
    mode: 'stream',
    onHangUp: hangUpOf(reply),
    emit: (event) => stream.send(event),
    openStream: () => stream.open(),
    last_event_id: headers['last-event-id'] as string | undefined,
  }
}

function bodyOf({ body }: FastifyRequest): Buffer | undefined {
  return body as Buffer | undefined
}

function wantsStream({ exchange, route }: Asked): boolean {
  const { streams } = route.operation
  if (!streams) return false
  return streams.always === true || /\btext\/event-stream\b/i.test(exchange.request.headers.accept ?? '')
}

/** RFC 7240. */
function prefersAsync({ headers }: FastifyRequest): boolean {
  return /(?:^|,)\s*respond-async\s*(?:$|[,;])/i.test(String(headers.prefer ?? ''))
}

function hangUpOf({ raw }: FastifyReply): Delivery['onHangUp'] {
  return (listener) => {
    if (raw.destroyed) listener()
    else raw.once('close', () => raw.writableFinished || listener())
  }
}
