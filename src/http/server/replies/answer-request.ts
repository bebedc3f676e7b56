import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Mode, PLAIN_REPLY, type ReplyChannel } from '../../../operation/reply-channel.ts'
import type { Operation } from '../../../operation.ts'
import { isReplay } from '../../pipeline/idempotency.ts'
import type { Admitted } from '../../pipeline/stages.ts'
import { toApiError } from '../../pipeline/to-api-error.ts'
import type { Front } from '../front.ts'
import { EventStream } from './event-stream.ts'
import { send, sendLines } from './send.ts'

/** Runs the operation and sends its answer as the client wants it: as one reply or as a stream of events. */
export function answerRequest(
  front: Front,
  admitted: Admitted,
  bytes: Buffer | undefined,
  response: ServerResponse,
): Promise<void> {
  return wantsStream(admitted.route.operation, admitted.arrived.message)
    ? answerAsStream(front, admitted, bytes, response)
    : answerOnce(front, admitted, bytes, response)
}

async function answerOnce(
  { steps, requests }: Front,
  admitted: Admitted,
  bytes: Buffer | undefined,
  response: ServerResponse,
): Promise<void> {
  const { message, headers } = admitted.arrived
  const { accepted, streams } = admitted.route.operation
  const mode: Mode = accepted && prefersAsync(message) ? 'background' : 'reply'
  const onHangUp = streams && mode === 'reply' ? hangUpOf(response) : undefined
  const rendered = await steps.run(admitted, bytes, { ...PLAIN_REPLY, mode, onHangUp })
  requests.count(admitted.arrived, rendered.status)
  if (rendered.lines) await sendLines(response, headers, rendered)
  else send(response, headers, rendered)
}

async function answerAsStream(
  { edge, steps, requests }: Front,
  admitted: Admitted,
  bytes: Buffer | undefined,
  response: ServerResponse,
): Promise<void> {
  const { message, request_id, headers } = admitted.arrived
  const { dialect, operation } = admitted.route
  const stream = new EventStream(response, headers, dialect)
  try {
    const rendered = await steps.run(admitted, bytes, streamChannel(stream, response, message))
    const { status, headers: sent, body } = rendered
    requests.count(admitted.arrived, status)
    if (status === 202) {
      send(response, headers, rendered)
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

function streamChannel(stream: EventStream, response: ServerResponse, { headers }: IncomingMessage): ReplyChannel {
  return {
    mode: 'stream',
    onHangUp: hangUpOf(response),
    emit: (event) => stream.send(event),
    openStream: () => stream.open(),
    last_event_id: headers['last-event-id'] as string | undefined,
  }
}

function wantsStream({ streams }: Operation, { headers }: IncomingMessage): boolean {
  if (!streams) return false
  return streams.always === true || /\btext\/event-stream\b/i.test(headers.accept ?? '')
}

/** RFC 7240. */
function prefersAsync({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*respond-async\s*(?:$|[,;])/i.test(String(headers.prefer ?? ''))
}

function hangUpOf(response: ServerResponse): ReplyChannel['onHangUp'] {
  return (listener) => {
    if (response.destroyed) listener()
    else response.once('close', () => response.writableFinished || listener())
  }
}
