import { z } from 'zod'
import { invalid, notFound } from '../../../errors.ts'
import type { Mode } from '../../../operation/reply-channel.ts'
import type { Operation } from '../../../operation.ts'
import type { AskedSignIn } from '../../../runtime/approvals/sign-in-words.ts'
import { parseJson, readBody } from '../../input/body.ts'
import { readIdempotencyKey } from '../../input/request-headers.ts'
import { validate } from '../../input/validate.ts'
import type { CallRunner, Dialect, NamedCall, ReceivedRequest, RenderedReply, Route, Writer } from '../dialect.ts'
import { OperationCalls } from '../operation-calls.ts'
import { answeredOf, keptOf } from './answered.ts'
import { readChat } from './chat-request.ts'
import { ChatWriter } from './chat-writer.ts'
import { readResponseId, responseId } from './ids.ts'
import { inputItems } from './input-items.ts'
import { getModel, listModels } from './models.ts'
import { openaiError } from './openai-error.ts'
import { readModel } from './parameters.ts'
import { type ResponseObject, responseOf, unansweredResponse, waitingResponse } from './response-object.ts'
import { readResponses } from './responses-request.ts'
import { ResponsesWriter } from './responses-writer.ts'

/** The paths of OpenAI's API, including unsupported ones, because clients expect OpenAI's errors there. */
const OWN_PATHS =
  /^\/v1\/(?:chat|models|responses|completions|embeddings|conversations|audio|images|moderations|batches)(?:\/|$)/

/**
 * The dialect of OpenAI's clients, in which an agent is a model. Chat completions and responses are invocations, and a
 * response is read back from its receipt.
 */
export const openai: Dialect = {
  name: 'openai',
  door: 'openai',
  routes: routesTo,
  owns: (path) => OWN_PATHS.test(path),
  headers: (request_id) => ({
    'X-Request-Id': request_id,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': 'application/json; charset=utf-8',
  }),
  error: openaiError,
  namesAgents: true,
}

function routesTo(operations: readonly Operation[]): Route[] {
  const of = (id: string) => operations.find((operation) => operation.id === id) as Operation
  const [invoke, read, follow] = [of('invokeAgent'), of('getInvocation'), of('streamInvocation')]
  const [cancel, erase, list] = [of('cancelInvocation'), of('eraseInvocation'), of('listInvocable')]
  const whole = (received: ReceivedRequest) => wholeCall(read, of('listApprovals'), received)
  const response = '/v1/responses/{response_id}'
  const at = (method: string, path: string, operation: Operation) => ({
    dialect: openai,
    method,
    path,
    operation,
    ...(path.startsWith(response) && { agentIn: responseAgent }),
  })
  const calls = (received: ReceivedRequest, runner: CallRunner) => new OperationCalls(operations, received, runner)
  return [
    {
      ...at('POST', '/v1/chat/completions', invoke),
      agentIn: modelIn,
      name: (received) => chatCall(invoke, received),
    },
    {
      ...at('POST', '/v1/responses', invoke),
      agentIn: modelIn,
      name: (received) => responsesCall(invoke, follow, received),
    },
    { ...at('GET', response, read), name: (received) => readCall(whole(received), follow, received) },
    { ...at('DELETE', response, erase), name: (received) => deleteCall(erase, received) },
    { ...at('POST', `${response}/cancel`, cancel), name: (received) => cancelCall(cancel, received) },
    {
      ...at('GET', `${response}/input_items`, read),
      name: (received) => stored(read, received, inputItems(received.query)),
    },
    { ...at('GET', '/v1/models', list), serve: (received, runner) => listModels(calls(received, runner)) },
    { ...at('GET', '/v1/models/{model}', list), serve: (received, runner) => getModel(calls(received, runner)) },
  ]
}

/** The agent that `model` names. */
function modelIn({ bytes }: Pick<ReceivedRequest, 'bytes'>): string | undefined {
  const { model } = Object(bytes && parseJson(bytes)) as { model?: unknown }
  return typeof model === 'string' ? readModel(model).agent : undefined
}

/** The agent of a response. The response's ID contains it. */
function responseAgent({ params }: Pick<ReceivedRequest, 'params'>): string | undefined {
  return readResponseId(params['response_id'] ?? '')?.agent_id
}

/** Reads a request whose input is in the body as a call. */
function named(
  operation: Operation,
  { message }: ReceivedRequest,
  { sent, mode }: { sent: unknown; mode: Mode },
): Omit<NamedCall, 'params' | 'body' | 'writer'> {
  const idempotencyKey = readIdempotencyKey(message)
  return { operation, query: {}, sent, mode, last_event_id: undefined, idempotencyKey }
}

function chatCall(invokeAgent: Operation, received: ReceivedRequest): NamedCall {
  const sent = readBody(invokeAgent, received.bytes)
  const { chat, agent, ...read } = readChat(sent)
  const mode = chat.stream ? 'stream' : 'reply'
  const includeUsage = chat.stream_options?.include_usage === true
  const { request_id } = received
  const writer = new ChatWriter({ model: chat.model, includeUsage, request_id, now: Date.now() })
  return { ...named(invokeAgent, received, { sent, mode }), params: { agent_id: agent }, ...read, writer }
}

function responsesCall(invokeAgent: Operation, streamInvocation: Operation, received: ReceivedRequest): NamedCall {
  const sent = readBody(invokeAgent, received.bytes)
  const { asked, agent, ...read } = readResponses(sent)
  const background = asked.background === true
  const mode = background ? 'background' : asked.stream ? 'stream' : 'reply'
  const { request_id } = received
  const writer = new ResponsesWriter({ request_id, background, given: read.given ?? null, created_at: Date.now() })
  const call = { ...named(invokeAgent, received, { sent, mode }), params: { agent_id: agent }, ...read, writer }
  if (!background || !asked.stream) return call
  return { ...call, next: (reply) => followCall(streamInvocation, received, reply, -1) }
}

/** Reads a response as it is now, or its events after a certain number. */
function readCall(call: NamedCall, streamInvocation: Operation, received: ReceivedRequest): NamedCall {
  const query = new URLSearchParams(received.query)
  if (query.get('stream') !== 'true') return call
  const after = query.get('starting_after') ?? '-1'
  if (!/^(?:-1|\d{1,15})$/.test(after)) throw invalid({ field: 'starting_after', error: 'must be a whole number' })
  return { ...call, next: (reply) => followCall(streamInvocation, received, reply, Number(after)) }
}

/** Reads a response as it is now. If its run asks people, what it asks is read too. */
function wholeCall(getInvocation: Operation, listApprovals: Operation, received: ReceivedRequest): NamedCall {
  let waiting: ResponseObject | undefined
  const call = stored(getInvocation, received, {
    ...wholeResponse,
    reply(_operation, result) {
      const answered = keptOf(result)
      const response = responseOf(answered)
      if (answered.asks_people) waiting = response
      return { status: 200, headers: {}, body: JSON.stringify(response) }
    },
  })
  return { ...call, next: () => waiting && waitingCall(listApprovals, received, waiting) }
}

function waitingCall(listApprovals: Operation, received: ReceivedRequest, response: ResponseObject): NamedCall {
  const asked = { ...idsOf(response.id), status: 'pending', limit: 100 }
  const writer: Writer = {
    ...wholeResponse,
    reply(_operation, result) {
      const { items } = result as { items: AskedSignIn[] }
      return { status: 200, headers: {}, body: JSON.stringify(waitingResponse(response, items)) }
    },
  }
  const query = validate(listApprovals.input?.query ?? z.strictObject({}), asked)
  return { ...stored(listApprovals, received, writer), params: {}, query }
}

/** `reply` is the response before its events. The stream starts with it. */
function followCall(
  streamInvocation: Operation,
  received: ReceivedRequest,
  reply: RenderedReply,
  startingAfter: number,
): NamedCall {
  const now = JSON.parse(reply.body) as ResponseObject
  const response = unansweredResponse(now)
  const begun = { request_id: received.request_id, background: true, given: null, created_at: 0 }
  return {
    ...named(streamInvocation, received, { sent: {}, mode: 'stream' }),
    idempotencyKey: undefined,
    params: idsOf(now.id),
    body: {},
    writer: new ResponsesWriter(begun, { response, startingAfter }),
  }
}

function deleteCall(eraseInvocation: Operation, received: ReceivedRequest): NamedCall {
  return stored(eraseInvocation, received, {
    ...wholeResponse,
    reply(_operation, result) {
      const { request_id, agent_id } = answeredOf(result)
      const body = { id: responseId(request_id, agent_id), object: 'response', deleted: true }
      return { status: 200, headers: {}, body: JSON.stringify(body) }
    },
  })
}

function cancelCall(cancelInvocation: Operation, received: ReceivedRequest): NamedCall {
  return { ...stored(cancelInvocation, received, wholeResponse), idempotencyKey: readIdempotencyKey(received.message) }
}

/** Reads a request about a stored response as a call. */
function stored(operation: Operation, received: ReceivedRequest, writer: Writer): NamedCall {
  const params = idsOf(received.params['response_id'] ?? '')
  return {
    ...named(operation, received, { sent: {}, mode: 'reply' }),
    idempotencyKey: undefined,
    params,
    body: {},
    writer,
  }
}

function idsOf(id: string): { agent_id: string; request_id: string } {
  const ids = readResponseId(id)
  if (!ids) throw notFound('Response', id)
  return ids
}

const wholeResponse: Writer = {
  reply(_operation, result) {
    const answered = keptOf(result)
    return { status: 200, headers: {}, body: JSON.stringify(responseOf(answered)) }
  },
  event: () => '',
  replay: () => [],
}
