import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { readBody, startLocalServer } from './local-server.ts'

type ReplyCall = { name: string; arguments: Record<string, unknown> | string }

/** How the server answers one request. By default, it repeats the user's last message. */
export type ModelReply = {
  /** Sent instead of an answer. */
  status?: number
  headers?: Record<string, string>
  body?: unknown
  /** Sent as the stream, no matter what it is. */
  raw?: string
  /** Pieces of the answer's text, streamed one by one. */
  text?: readonly string[]
  calls?: readonly ReplyCall[]
  usage?: {
    prompt_tokens: number
    completion_tokens: number
    prompt_tokens_details?: { cached_tokens: number }
    completion_tokens_details?: { reasoning_tokens: number }
  } | null
  finish_reason?: string
  /**
   * What happens after the text instead of a proper end: silence, a dead socket, or an end without a finish reason.
   * Usage is reported before that only if it is given.
   */
  breaks?: 'silence' | 'reset' | 'early end'
}

type ChatMessage = {
  role: string
  content: string | null
  tool_call_id?: string
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
}
type ChatRequest = {
  model: string
  messages: ChatMessage[]
  stream?: boolean
  tools?: { function: { name: string; description: string; parameters: unknown } }[]
  [option: string]: unknown
}
export type SeenRequest = {
  path: string
  headers: IncomingHttpHeaders
  body: ChatRequest
  /** The client's port of the connection. */
  port: number | undefined
  /** Resolves when this request's connection has ended, with whether the whole answer was sent. */
  closed: Promise<{ answered: boolean }>
}

export type ModelServer = {
  /** The base URL of an OpenAI-compatible endpoint. */
  url: string
  requests: SeenRequest[]
  /** The models that it lists. */
  models: string[]
  lists: IncomingHttpHeaders[]
  /** Queues answers for further requests, in order. */
  reply(...replies: ModelReply[]): void
  /** From now on, answers this way if no answer is queued. */
  replyBy(think: (request: ChatRequest) => ModelReply): void
  /** From now on, refuses longer prompts, as a small model's server does. */
  takeAtMost(characters: number, refusal?: ModelReply): void
  /** The next request is noticed immediately but answered only after this resolves. */
  holdNext(until: Promise<void>): void
  /** Resolves when the next request has arrived and its answer has been sent, as far as there is one. */
  nextRequest(): Promise<SeenRequest>
  /** Drops recorded requests, queued answers and the limit on prompts. */
  reset(): void
  close(): Promise<void>
}

/** A small OpenAI-compatible chat server that says what it is told to. */
export async function startModelServer(): Promise<ModelServer> {
  const queue: ModelReply[] = []
  const requests: SeenRequest[] = []
  const models = ['tiny', 'tiny-2']
  const lists: IncomingHttpHeaders[] = []
  let waiting: ((request: SeenRequest) => void)[] = []
  let held: Promise<void> | undefined
  let think = (request: ChatRequest): ModelReply => ({ text: [lastUserMessage(request)] })
  let most: { characters: number; refusal: ModelReply } | undefined

  const server = await startLocalServer(async (request, response) => {
    if (request.method === 'GET') {
      lists.push(request.headers)
      return void response.end(JSON.stringify({ object: 'list', data: models.map((id) => ({ id, object: 'model' })) }))
    }
    const body = JSON.parse(await readBody(request)) as ChatRequest
    const closed = new Promise<{ answered: boolean }>((resolve) => {
      response.on('close', () => resolve({ answered: response.writableFinished }))
    })
    const seen = { path: request.url ?? '', headers: request.headers, body, port: request.socket.remotePort, closed }
    requests.push(seen)
    const refusal = most && charactersOf(body) > most.characters ? most.refusal : undefined
    const reply = refusal ?? queue.shift() ?? think(body)
    if (held) {
      void held.then(() => answer(response, body, reply))
      held = undefined
    } else answer(response, body, reply)
    const told = waiting
    waiting = []
    for (const tell of told) tell(seen)
  })

  return {
    url: `${server.url}/v1`,
    requests,
    models,
    lists,
    reply: (...replies) => void queue.push(...replies),
    replyBy(other) {
      think = other
    },
    takeAtMost(characters, refusal = TOO_LONG) {
      most = { characters, refusal }
    },
    holdNext(until) {
      held = until
    },
    nextRequest: () => new Promise((resolve) => waiting.push(resolve)),
    reset() {
      queue.length = 0
      requests.length = 0
      lists.length = 0
      most = undefined
    },
    close: server.close,
  }
}

/** OpenAI's error message, which most compatible servers repeat, without the numbers that some leave out. */
const TOO_LONG: ModelReply = {
  status: 400,
  body: {
    error: {
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    },
  },
}

function charactersOf({ messages }: ChatRequest): number {
  return messages.reduce((characters, { content }) => characters + (content ?? '').length, 0)
}

function lastUserMessage({ messages }: ChatRequest): string {
  return messages.findLast(({ role }) => role === 'user')?.content ?? ''
}

function answer(response: ServerResponse, request: ChatRequest, reply: ModelReply) {
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
    response.end(JSON.stringify(reply.body ?? { error: { message: `status ${reply.status}` } }))
    return
  }
  if (reply.breaks === 'silence' && !reply.text) return
  if (!request.stream) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(wholeAnswer(request, reply)))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (reply.raw !== undefined) {
    response.end(reply.raw)
    return
  }
  for (const chunk of chunks(request, reply)) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  if (reply.breaks === 'silence') return
  // The pieces written so far must reach the client before the socket is reset.
  if (reply.breaks === 'reset') response.write(': gone\n\n', () => response.socket?.resetAndDestroy())
  else response.end(reply.breaks === 'early end' ? undefined : 'data: [DONE]\n\n')
}

function* chunks(request: ChatRequest, reply: ModelReply) {
  const frame = (delta: unknown, finish_reason: string | null = null) => ({
    ...envelope(request, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason }],
  })
  for (const content of reply.text ?? []) yield frame({ role: 'assistant', content })
  const usage = reply.breaks && !reply.usage ? undefined : usageOf(reply)
  const counted = usage && { ...envelope(request, 'chat.completion.chunk'), choices: [], usage }
  if (!reply.breaks) {
    for (const call of toolCalls(reply)) yield frame({ role: 'assistant', tool_calls: [call] })
    yield frame({}, finishReason(reply))
  }
  if (counted && request.stream_options) yield counted
}

function wholeAnswer(request: ChatRequest, reply: ModelReply) {
  const message = { role: 'assistant', content: (reply.text ?? []).join(''), tool_calls: toolCalls(reply) }
  return {
    ...envelope(request, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finishReason(reply) }],
    usage: usageOf(reply),
  }
}

function envelope({ model }: ChatRequest, object: string) {
  return { id: 'chatcmpl-1', object, created: 1_794_700_800, model }
}

function toolCalls({ calls = [] }: ModelReply) {
  return calls.map((call, index) => ({
    index,
    id: `call_${index + 1}`,
    type: 'function',
    function: {
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    },
  }))
}

function finishReason({ finish_reason, calls = [] }: ModelReply): string {
  return finish_reason ?? (calls.length > 0 ? 'tool_calls' : 'stop')
}

function usageOf({ usage = { prompt_tokens: 10, completion_tokens: 5 } }: ModelReply) {
  return usage && { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens }
}
