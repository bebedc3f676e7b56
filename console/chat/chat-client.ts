/** What a visitor is asked to decide. */
export type Ask = {
  call_id: string
  kind: 'tool' | 'question' | 'retry'
  question?: string
  options?: string[]
  tool?: string
  arguments?: unknown
}

export type ChatError = { code: string; message: string; retry_after?: number }

/** A message as the service has it. */
export type StoredMessage = {
  request_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  message: string
  response: string | null
  attachments: { name: string }[]
  error: ChatError | null
  score: number | null
}

export type ChatEvent =
  | { event: 'start' | 'restart'; data: { request_id: string } }
  | { event: 'delta'; data: { text: string } }
  | { event: 'queued' | 'working'; data: object }
  | { event: 'waiting'; data: { request_id: string; approvals: Ask[] } }
  | { event: 'done'; data: { data: { request_id: string; response: string } } }
  | { event: 'error'; data: { error: ChatError } }

export type NewFile = { name: string; media_type: string; data: string }

/** Why the service, or the way to it, gave no answer. */
export class ChatFailure extends Error {
  readonly code: string

  constructor({ code, message }: ChatError) {
    super(message)
    this.code = code
  }
}

const OFFLINE = { code: 'offline', message: "The service can't be reached. Check your connection." }
/** Relative to the page, so that it works behind any prefix that a proxy removes. */
const HERE = location.pathname.replace(/\/+$/, '').split('/').at(-1) ?? ''

async function ask(path: string, { method = 'GET', body, headers, signal }: Asked = {}): Promise<Response> {
  const isSent = body !== undefined
  const request = fetch(`./${HERE}/messages${path}`, {
    method,
    credentials: 'same-origin',
    headers: { 'X-Moorage-Chat': '1', ...(isSent && { 'Content-Type': 'application/json' }), ...headers },
    ...(isSent && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  const response = await request.catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ChatFailure(OFFLINE)
  })
  if (response.ok) return response
  const told = (await response.json().catch(() => ({}))) as { error?: ChatError }
  throw new ChatFailure(told.error ?? OFFLINE)
}

type Asked = { method?: string; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal }

export async function history(session_id: string): Promise<StoredMessage[]> {
  const response = await ask(`?session_id=${session_id}`)
  return ((await response.json()) as { data: StoredMessage[] }).data.toReversed()
}

type Sent = { message: string; session_id: string; attachments: NewFile[]; key: string }

/** The events of the answer. A message that is sent again with its key is answered once. */
export async function* send({ key, attachments, ...sent }: Sent, signal: AbortSignal): AsyncGenerator<ReadEvent> {
  const body = { ...sent, ...(attachments.length > 0 && { attachments }) }
  const headers = { Accept: 'text/event-stream', 'Idempotency-Key': key }
  const response = await ask('', { method: 'POST', body, headers, signal })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return yield* read(response)
  const { data } = (await response.json()) as { data: { request_id: string; approvals?: Ask[] } }
  yield { id: '', event: 'start', data }
  yield { id: '', event: 'waiting', data: { approvals: [], ...data } }
}

/** The events of an answer that has begun, after the one with this ID. */
export async function* follow(request_id: string, after: string, signal: AbortSignal): AsyncGenerator<ReadEvent> {
  const headers: Record<string, string> = after === '' ? {} : { 'Last-Event-ID': after }
  yield* read(await ask(`/${request_id}/stream`, { headers, signal }))
}

export async function cancel(request_id: string): Promise<void> {
  await ask(`/${request_id}/cancel`, { method: 'POST' })
}

export async function decide(request_id: string, call_id: string, body: object): Promise<void> {
  await ask(`/${request_id}/approvals/${encodeURIComponent(call_id)}`, { method: 'POST', body })
}

export async function rate(request_id: string, score: number): Promise<void> {
  await ask(`/${request_id}/feedback`, { method: 'PUT', body: { score } })
}

export type ReadEvent = ChatEvent & { id: string }

async function* read({ body }: Response): AsyncGenerator<ReadEvent> {
  if (!body) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let waiting = ''
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    waiting += piece.value
    const blocks = waiting.split('\n\n')
    waiting = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      const [event, data] = [fields.get('event'), fields.get('data')]
      if (event && data) yield { id: fields.get('id') ?? '', event, data: JSON.parse(data) } as ReadEvent
    }
  }
}
