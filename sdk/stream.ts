import { fill, readJson } from './call.ts'
import { errorFrom, MoorageError } from './errors.ts'
import { pause, type RequestOptions, randomKey, type Send } from './request.ts'

/** What an agent says and does while it answers; `done` is the last. */
export type InvocationEvent<Result> =
  | { type: 'start'; request_id: string }
  | { type: 'delta'; text: string }
  | { type: 'tool_call'; id: string; name: string; arguments: unknown }
  | { type: 'tool_result'; id: string; name: string; result?: string; error?: string }
  | { type: 'done'; data: Result }

export type StreamOptions = RequestOptions & {
  /** Where to go on, from an event that was seen before. */
  last_event_id?: string | undefined
}

const INVOKE = '/v1/agents/{agent_id}/invoke'
const FOLLOW = '/v1/agents/{agent_id}/invocations/{request_id}/stream'
const CANCEL = '/v1/agents/{agent_id}/invocations/{request_id}/cancel'
const REJOINS = 5
const PAUSE_MS = 200

/**
 * Invokes an agent and tells what it says as it says it. A connection that breaks is taken up again where it broke.
 * Leaving the loop early, or aborting, cancels the run.
 */
export async function* streamInvoke<Result>(
  send: Send,
  agent_id: string,
  body: unknown,
  options: RequestOptions = {},
): AsyncGenerator<InvocationEvent<Result>, void, undefined> {
  const once = { ...options, idempotencyKey: options.idempotencyKey ?? randomKey() }
  const headers = { Accept: 'text/event-stream' }
  const begin = () => send({ method: 'POST', path: fill(INVOKE, { agent_id }), body, headers }, once)
  let request_id: string | undefined
  let isOver = false
  try {
    for await (const event of rejoining<Result>(send, agent_id, begin, options)) {
      if (event.type === 'start') request_id = event.request_id
      isOver = event.type === 'done'
      yield event
    }
  } catch (error) {
    isOver = !options.signal?.aborted
    throw error
  } finally {
    if (!isOver && request_id) {
      const path = fill(CANCEL, { agent_id, request_id })
      // Also after an abort, so under a signal of its own.
      await send({ method: 'POST', path }, { retries: 0, signal: new AbortController().signal }).catch(() => undefined)
    }
  }
}

/** Tells what a run has said so far and goes on until it ends; leaving early does not touch the run. */
export function followInvocation<Result>(
  send: Send,
  agent_id: string,
  request_id: string,
  { last_event_id, ...options }: StreamOptions = {},
): AsyncGenerator<InvocationEvent<Result>, void, undefined> {
  const begin = () => rejoin(send, agent_id, request_id, last_event_id, options)
  return rejoining(send, agent_id, begin, options, request_id)
}

async function* rejoining<Result>(
  send: Send,
  agent_id: string,
  begin: () => Promise<Response>,
  options: RequestOptions,
  known?: string,
): AsyncGenerator<InvocationEvent<Result>, void, undefined> {
  let request_id = known
  let last_event_id: string | undefined
  let response = await begin()
  for (let broken = 0; ; ) {
    for await (const message of messages(response, options.signal)) {
      broken = 0
      last_event_id = message.id
      const event = eventOf<Result>(message, response)
      if (event.type === 'start') request_id = event.request_id
      yield event
      if (event.type === 'done') return
    }
    options.signal?.throwIfAborted()
    if (++broken > REJOINS)
      throw new MoorageError('unreachable', 'The stream breaks off again and again', { request_id })
    await pause(PAUSE_MS * broken, options.signal)
    response = request_id ? await rejoin(send, agent_id, request_id, last_event_id, options) : await begin()
  }
}

function rejoin(
  send: Send,
  agent_id: string,
  request_id: string,
  last_event_id: string | undefined,
  options: RequestOptions,
): Promise<Response> {
  const headers = {
    Accept: 'text/event-stream',
    ...(last_event_id !== undefined && { 'Last-Event-ID': last_event_id }),
  }
  return send({ method: 'GET', path: fill(FOLLOW, { agent_id, request_id }), headers }, options)
}

function eventOf<Result>({ event, data }: Message, { headers }: Response): InvocationEvent<Result> {
  const body = JSON.parse(data)
  if (event === 'error') throw errorFrom(body, headers.get('x-request-id') ?? undefined)
  return event === 'done' ? { type: 'done', data: body.data } : { type: event, ...body }
}

type Message = { id: string; event: string; data: string }

/** Server-sent events until the connection ends, in order or not. */
async function* messages(response: Response, signal: AbortSignal | undefined): AsyncGenerator<Message> {
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    await readJson(response)
    throw new MoorageError('invalid_reply', 'The service did not answer with a stream', { status: response.status })
  }
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let waiting = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      waiting += decoder.decode(value, { stream: true })
      const blocks = waiting.split(/\r?\n\r?\n/)
      waiting = blocks.pop() as string
      for (const block of blocks) {
        const message = parse(block)
        if (message) yield message
      }
    }
  } catch (error) {
    signal?.throwIfAborted()
    // Broken by the network: whoever reads on joins again. Anything else is the caller's own.
    if (!(error instanceof TypeError)) throw error
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function parse(block: string): Message | undefined {
  const fields = new Map<string, string>()
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^([^:]+):? ?(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    const before = fields.get(name)
    fields.set(name, name === 'data' && before !== undefined ? `${before}\n${value}` : value)
  }
  const data = fields.get('data')
  if (data === undefined) return undefined
  return { id: fields.get('id') ?? '', event: fields.get('event') ?? 'message', data }
}
