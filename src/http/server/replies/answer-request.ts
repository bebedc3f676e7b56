import type { ServerResponse } from 'node:http'
import { PLAIN_REPLY, type ReplyChannel } from '../../../operation/reply-channel.ts'
import type { Content } from '../../../storage/bytes/content.ts'
import type { CallRequest, NamedCall, ReceivedRequest, RenderedReply, Route } from '../../dialects/dialect.ts'
import { receiveUpload } from '../../input/receive-upload.ts'
import { authoriseNamed } from '../../pipeline/guards/authorise.ts'
import { isReplay } from '../../pipeline/idempotency/replay.ts'
import type { AuthorizedCall } from '../../pipeline/request.ts'
import { runAuthorised } from '../../pipeline/run-authorised.ts'
import { toApiError } from '../../pipeline/to-api-error.ts'
import type { Front } from '../front.ts'
import { callRunner } from './call-runner.ts'
import { EventStream } from './event-stream.ts'
import { LARGE_REPLY } from './reply-room.ts'
import { type ReplyWatch, send, sendLines } from './send.ts'
import { sendContent } from './send-content.ts'

/** Reads what the client requests, runs it and sends the answer in the requested form. */
export async function answerRequest(
  front: Front,
  authorised: AuthorizedCall,
  bytes: Buffer | undefined,
  response: ServerResponse,
): Promise<void> {
  const { message, query, request_id, visitor } = authorised.arrived
  const route = authorised.arrived.route as Route
  // The path may contain the agent's name. From here on, the ID is used.
  const received = { message, params: authorised.params, query, bytes, request_id, visitor }
  if (route.read) return answerCall(front, authorised, route.read(received), response)
  if (route.serve) return serve(front, authorised, route.serve, received, response)
  const call = route.name(received)
  return answerNamed(front, await authoriseNamed(front.edge, authorised, call), call, response)
}

/** Answers a call that the request has named, or the call that follows it. */
async function answerNamed(
  front: Front,
  authorised: AuthorizedCall,
  call: NamedCall,
  response: ServerResponse,
): Promise<void> {
  if (authorised.agent) call.writer.begin?.(authorised.agent.id)
  if (!call.next) return answerCall(front, authorised, call, response)
  const channel = { ...replyChannel(front, authorised, response), mode: call.mode, onHangUp: undefined }
  const reply = await runAuthorised(front.edge, authorised, call, channel)
  const next = call.next(reply)
  if (!next) return answerRendered(front, authorised, reply, response)
  return answerNamed(front, await authoriseNamed(front.edge, authorised, next), next, response)
}

/** Answers one call, as one reply or as a stream of events. */
async function answerCall(
  front: Front,
  authorised: AuthorizedCall,
  wanted: CallRequest,
  response: ServerResponse,
): Promise<void> {
  const { mode } = wanted
  if (mode === 'stream') return answerAsStream(front, authorised, wanted, response)
  const { edge, requests } = front
  const { arrived, operation } = authorised
  const channel = { ...replyChannel(front, authorised, response), mode }
  if (!operation.answer.streams || mode !== 'reply') channel.onHangUp = undefined
  const rendered = await runAuthorised(edge, authorised, wanted, channel)
  if (rendered.body.length >= LARGE_REPLY) await front.replies.count(response, authorised, rendered.body)
  if (rendered.content) return answerContent(front, authorised, rendered.content, response)
  if (rendered.lines) return answerLines(front, authorised, rendered, response)
  requests.count(arrived, rendered.status)
  send(response, arrived.headers, rendered)
}

/** Stores the body first, while it arrives. If the operation doesn't keep it, it is removed again. */
export async function answerUpload(front: Front, authorised: AuthorizedCall, response: ServerResponse): Promise<void> {
  const { message, params, query, request_id, route } = authorised.arrived
  const { parts } = front.edge
  // Errors of the request itself are returned before its body is received.
  const wanted = (route as Extract<Route, { read: unknown }>).read({
    message,
    params,
    query,
    bytes: undefined,
    request_id,
  })
  const body = await receiveUpload(message, authorised.actor.scope.project_id, parts)
  const { taken, media_type, name } = body
  const sent = { name, media_type, size: taken.size, sha256: taken.sha256 }
  try {
    await answerCall(front, authorised, { ...wanted, body, sent }, response)
  } finally {
    await parts.bytes.release(taken)
  }
}

async function answerAsStream(
  front: Front,
  authorised: AuthorizedCall,
  wanted: CallRequest,
  response: ServerResponse,
): Promise<void> {
  const { edge, requests } = front
  const { arrived, operation } = authorised
  const { request_id, headers, dialect } = arrived
  const { writer } = wanted
  const stream = new EventStream(response, headers, writer)
  front.streams.watch(authorised, response)
  const enough = new AbortController()
  try {
    const channel = endingChannel(
      { ...replyChannel(front, authorised, response), ...streamChannel(stream, wanted) },
      wanted,
      enough,
    )
    const rendered = await runAuthorised(edge, authorised, wanted, channel)
    const { status, headers: sent, body } = rendered
    requests.count(arrived, status)
    if (status === 202 && !stream.opened) {
      send(response, headers, rendered)
      return
    }
    // An event has already said what the work waits for.
    if (status === 202) return stream.end()
    // A repeated answer has no events, so they are made from the stored reply.
    if (isReplay(sent)) {
      Object.assign(headers, sent)
      for (const event of writer.replay(operation, rendered)) stream.send(event)
    }
    stream.send({ id: 'done', event: 'done', data: body })
  } catch (error) {
    if (enough.signal.aborted) {
      requests.count(arrived, 200)
      return stream.end()
    }
    if (!stream.opened) throw error
    const apiError = toApiError(error, edge.parts.log, request_id)
    const { status, body } = dialect.error(apiError, request_id)
    requests.count(arrived, status)
    // The client resumes from its last event, so its ID must not change.
    const id = apiError.code === 'unavailable' ? null : 'done'
    stream.send({ id, event: 'error', data: body })
  }
  stream.end()
}

function replyChannel({ replies }: Front, authorised: AuthorizedCall, response: ServerResponse): ReplyChannel {
  return {
    ...PLAIN_REPLY,
    // The reply to HEAD ends before the stream that GET would send, so this must end that stream too.
    onHangUp(listener) {
      if (response.destroyed) listener()
      else response.once('close', () => (response.writableFinished && response.req.method !== 'HEAD') || listener())
    },
    reserve: (bytes) => replies.reserve(response, authorised, bytes),
  }
}

function streamChannel(
  stream: EventStream,
  { last_event_id }: CallRequest,
): Omit<ReplyChannel, 'reserve' | 'onHangUp'> {
  return {
    mode: 'stream',
    emit: (event) => stream.send(event),
    openStream: () => stream.open(),
    last_event_id,
  }
}

/** Stops following the run once the client has received the event with which its stream ends. */
function endingChannel(channel: ReplyChannel, { endsAfter }: CallRequest, enough: AbortController): ReplyChannel {
  const { emit, onHangUp } = channel
  if (endsAfter === undefined) return channel
  return {
    ...channel,
    emit(event) {
      if (enough.signal.aborted) return
      emit?.(event)
      if (event.event === endsAfter) enough.abort()
    },
    onHangUp(listener) {
      onHangUp?.(listener)
      enough.signal.addEventListener('abort', listener)
    },
  }
}

function answerContent(
  front: Front,
  authorised: AuthorizedCall,
  content: Content,
  response: ServerResponse,
): Promise<void> {
  front.streams.watch(authorised, response)
  return sendContent(response, authorised.arrived.headers, content, replyWatch(front, authorised))
}

function answerLines(
  front: Front,
  authorised: AuthorizedCall,
  rendered: RenderedReply,
  response: ServerResponse,
): Promise<void> {
  front.streams.watch(authorised, response)
  return sendLines(response, authorised.arrived.headers, rendered, replyWatch(front, authorised))
}

/**
 * Reports when a reply starts and when it is cut off. The client only sees that it ends early, so the reason is logged.
 */
function replyWatch({ edge, requests }: Front, { arrived }: AuthorizedCall): ReplyWatch {
  return {
    begun: (status) => requests.count(arrived, status),
    cut: (error) => void toApiError(error, edge.parts.log, arrived.request_id),
  }
}

/** Lets the dialect run the calls of the request and write the answer itself. */
async function serve(
  front: Front,
  authorised: AuthorizedCall,
  answer: NonNullable<Route['serve']>,
  received: ReceivedRequest,
  response: ServerResponse,
): Promise<void> {
  const rendered = await answer(received, callRunner(front, authorised, replyChannel(front, authorised, response)))
  return answerRendered(front, authorised, rendered, response)
}

async function answerRendered(
  front: Front,
  authorised: AuthorizedCall,
  rendered: RenderedReply,
  response: ServerResponse,
): Promise<void> {
  const { arrived } = authorised
  if (rendered.body.length >= LARGE_REPLY) await front.replies.count(response, authorised, rendered.body)
  if (rendered.lines) return answerLines(front, authorised, rendered, response)
  front.requests.count(arrived, rendered.status)
  send(response, arrived.headers, rendered)
}
