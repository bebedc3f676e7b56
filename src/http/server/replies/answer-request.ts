import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Mode, PLAIN_REPLY, type ReplyChannel } from '../../../operation/reply-channel.ts'
import type { Operation } from '../../../operation.ts'
import { isReplay } from '../../pipeline/idempotency.ts'
import type { Admitted } from '../../pipeline/stages.ts'
import { toApiError } from '../../pipeline/to-api-error.ts'
import type { Front } from '../front.ts'
import { EventStream } from './event-stream.ts'
import { send, sendLines, sendRaw } from './send.ts'

/** Runs the operation and sends its answer as the client wants it: as one reply or as a stream of events. */
export function answerRequest(front: Front, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { admitted } = request
  const body = request.body as Buffer | undefined
  return wantsStream(admitted.route.operation, request)
    ? answerAsStream(front, admitted, body, reply)
    : answerOnce(front, admitted, body, reply)
}

async function answerOnce(
  { steps, requests }: Front,
  admitted: Admitted,
  body: Buffer | undefined,
  reply: FastifyReply,
): Promise<void> {
  const { message, headers } = admitted.arrived
  const { accepted, streams } = admitted.route.operation
  const mode: Mode = accepted && prefersAsync(message) ? 'background' : 'reply'
  const onHangUp = streams && mode === 'reply' ? hangUpOf(reply) : undefined
  const rendered = await steps.run(admitted, body, { ...PLAIN_REPLY, mode, onHangUp })
  requests.count(admitted.arrived, rendered.status)
  if (rendered.lines) await sendLines(reply, headers, rendered)
  else sendRaw(reply, headers, rendered)
}

async function answerAsStream(
  { edge, steps, requests }: Front,
  admitted: Admitted,
  bytes: Buffer | undefined,
  reply: FastifyReply,
): Promise<void> {
  const { message, request_id, headers } = admitted.arrived
  const { dialect, operation } = admitted.route
  const stream = new EventStream(reply, headers, dialect)
  try {
    const rendered = await steps.run(admitted, bytes, streamChannel(stream, reply, message))
    const { status, headers: sent, body } = rendered
    requests.count(admitted.arrived, status)
    if (status === 202) {
      send(reply.headers(headers), rendered)
      return
    }
    // A repeated answer comes without events, so they are made from the stored reply.
    if (isReplay(sent)) {
      Object.assign(headers, sent)
      for (const event of operation.streams?.replay?.(dialect.dataOf(rendered) as never) ?? []) stream.send(event)
    }
    stream.send({ id: 'done', event: 'done', data: body })
  } catch (error) {
    if (!stream.opened) throw error
    const { status, body } = dialect.error(toApiError(error, edge.parts.log, request_id), request_id)
    requests.count(admitted.arrived, status)
    stream.send({ id: 'done', event: 'error', data: body })
  }
  stream.end()
}

function streamChannel(stream: EventStream, reply: FastifyReply, { headers }: IncomingMessage): ReplyChannel {
  return {
    mode: 'stream',
    onHangUp: hangUpOf(reply),
    emit: (event) => stream.send(event),
    openStream: () => stream.open(),
    last_event_id: headers['last-event-id'] as string | undefined,
  }
}

function wantsStream({ streams }: Operation, { headers }: FastifyRequest): boolean {
  if (!streams) return false
  return streams.always === true || /\btext\/event-stream\b/i.test(headers.accept ?? '')
}

/** RFC 7240. */
function prefersAsync({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*respond-async\s*(?:$|[,;])/i.test(String(headers.prefer ?? ''))
}

function hangUpOf({ raw }: FastifyReply): ReplyChannel['onHangUp'] {
  return (listener) => {
    if (raw.destroyed) listener()
    else raw.once('close', () => raw.writableFinished || listener())
  }
}
