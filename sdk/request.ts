import { errorOf, MoorageError } from './errors.ts'
import type { Reply } from './reply.ts'

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export type ClientOptions = {
  /** The service's URL, such as `http://127.0.0.1:8787`. */
  url: string
  /** An API key or an access token. */
  key?: string | undefined
  /** The project (ID or name), if the key has access to all projects. */
  project?: string | undefined
  fetch?: Fetch | undefined
  /** How often a failed request is retried, if a retry can help. */
  retries?: number | undefined
  /** The timeout of one attempt, from the request to the last byte of the reply. */
  timeoutMs?: number | undefined
  /** How long a stream can be silent, without even a ping, before the client reconnects. */
  idleTimeoutMs?: number | undefined
  /** Aborts every request that has no signal of its own. */
  signal?: AbortSignal | undefined
  /** Called before each retry, with the reason and the time that the client waits. */
  onRetry?: ((error: MoorageError, waitMs: number) => void) | undefined
}

export type RequestOptions = {
  signal?: AbortSignal | undefined
  /** Makes your own retries safe. Default: a new key for each call. */
  idempotencyKey?: string | undefined
  /** A one-time code, for operations that require one. */
  otp?: string | undefined
  retries?: number | undefined
  timeoutMs?: number | undefined
  /** Called if the reply belongs to an earlier request with the same `idempotencyKey`, so nothing was done again. */
  onReplay?: (() => void) | undefined
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export type Call = {
  method: string
  path: string
  /** The data to return if a DELETE's reply was lost and a retry finds that the object is already gone. */
  deleted?: Record<string, unknown> | undefined
  query?: Query | undefined
  body?: unknown
  /** Bytes to send unchanged, instead of a JSON body. */
  content?: Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined
  headers?: Record<string, string>
}

/** Sends calls to the service, and retries them while that can help. Both functions resolve with a 2xx reply. */
export type Sender = {
  /** Resolves with the whole reply. */
  send(call: Call, options?: RequestOptions): Promise<Reply>
  /** Resolves when the reply starts. The caller reads the body and handles its errors. */
  open(call: Call, options?: RequestOptions): Promise<Response>
}

const RETRIES = 2
const TIMEOUT_MS = 60_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 60_000
const INVOKE = /\/invoke(\?|$)/

export function sender(client: ClientOptions): Sender {
  if (typeof client.url !== 'string') throw new TypeError('createClient requires a url, such as http://127.0.0.1:8787')
  const base = client.url.replace(/\/+$/, '')
  const fetch: Fetch = client.fetch ?? ((url, init) => globalThis.fetch(url, init))

  async function retrying<T>(call: Call, options: RequestOptions, read: (response: Response) => T | Promise<T>) {
    const { signal = client.signal, retries = client.retries ?? RETRIES } = options
    const { timeoutMs = client.timeoutMs ?? TIMEOUT_MS } = options
    // Without the slash, the path would become part of the host name, and the key would be sent there.
    if (!call.path.startsWith('/')) throw new TypeError(`the path must start with /: ${call.path}`)
    const url = base + call.path + queryText(call.query)
    const request: RequestInit = {
      method: call.method,
      headers: headersOf(call, client, options),
      redirect: 'error',
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
      ...(call.content !== undefined && { body: call.content, duplex: 'half' }),
    }
    let isReplyLost = false
    for (let tries = 0; ; tries++) {
      const outcome = await attempt(fetch, url, request, { signal, timeoutMs, read })
      if (!(outcome instanceof MoorageError)) return outcome
      if (call.deleted && isReplyLost && outcome.code === 'not_found') {
        return read(Response.json({ success: true, data: call.deleted }))
      }
      isReplyLost ||= isBrokenOff(outcome)
      const pauseMs = pauseBefore(call, outcome, tries)
      if (tries >= retries || pauseMs === undefined) throw outcome
      client.onRetry?.(outcome, pauseMs)
      await pause(pauseMs, signal)
    }
  }

  return {
    async send(call, options = {}) {
      const reply = await retrying(call, options, readWhole)
      if (reply.headers.get('idempotent-replayed') === 'true') options.onReplay?.()
      return reply
    },
    open: (call, options = {}) => retrying(call, options, (response) => response),
  }
}

const BROKEN_OFF = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/**
 * Whether the service might have received and executed the request, because its reply took too long or the connection
 * broke.
 */
function isBrokenOff({ code, cause }: MoorageError): boolean {
  const { name, cause: reason } = (cause ?? {}) as { name?: string; cause?: { code?: string } }
  return code === 'unreachable' && (name === 'AbortError' || BROKEN_OFF.has(reason?.code ?? ''))
}

export async function readWhole(response: Response): Promise<Reply> {
  const { url, status, headers } = response
  return { url, status, headers, text: await response.text() }
}

type Attempt<T> = {
  signal: AbortSignal | undefined
  timeoutMs: number
  read(response: Response): T | Promise<T>
}

/** Sends the request once and reads the reply. Errors of the service or the network are returned instead of thrown. */
async function attempt<T>(
  fetch: Fetch,
  url: string,
  request: RequestInit,
  { signal, timeoutMs, read }: Attempt<T>,
): Promise<T | MoorageError> {
  signal?.throwIfAborted()
  const timer = new AbortController()
  const timeout = setTimeout(() => timer.abort(), timeoutMs)
  let missing = 'no reply'
  try {
    const response = await fetch(url, {
      ...request,
      signal: signal ? AbortSignal.any([signal, timer.signal]) : timer.signal,
    })
    missing = 'no complete reply'
    if (response.ok) return await read(response)
    return errorOf(response.status, response.headers, await response.text())
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof MoorageError) return error
    const reason = timer.signal.aborted ? `${missing} within ${timeoutMs / 1000} s` : reasonOf(error)
    return new MoorageError('unreachable', `Cannot reach ${new URL(url).origin}: ${reason}`, { cause: error })
  } finally {
    clearTimeout(timeout)
  }
}

function headersOf(call: Call, { key, project }: ClientOptions, options: RequestOptions): Record<string, string> {
  const repeatable = call.method === 'POST' || call.method === 'PATCH'
  return {
    Accept: 'application/json',
    ...(key !== undefined && { Authorization: `Bearer ${key}` }),
    ...(project !== undefined && { 'Moorage-Project': project }),
    ...(call.body !== undefined && { 'Content-Type': 'application/json' }),
    ...(repeatable && { 'Idempotency-Key': options.idempotencyKey ?? randomKey() }),
    ...(options.otp !== undefined && { 'X-Service-OTP': options.otp }),
    ...call.headers,
  }
}

/** Doesn't use randomUUID, because browsers provide it only on https. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** How long to wait before a retry. Undefined if a retry can't help, or only after a very long wait. */
function pauseBefore({ path }: Call, error: MoorageError, tries: number): number | undefined {
  const { status, retry_after } = error
  // The agent ran and failed. Its idempotency key doesn't store that, so a retry would run it again.
  if (status === 500 && INVOKE.test(path)) return undefined
  if (!isPassing(error)) return undefined
  if (retry_after !== undefined) return retry_after * 1000 <= LONGEST_PAUSE_MS ? retry_after * 1000 : undefined
  return FIRST_PAUSE_MS * 2 ** tries * (0.5 + Math.random() / 2)
}

/** Whether the same request might succeed shortly afterwards. */
export function isPassing({ code, status, should_retry }: MoorageError): boolean {
  if (should_retry === false) return false
  // The agent took too long, and a retry would probably take as long.
  if (code === 'timeout') return false
  return status === 0 || status === 429 || status >= 500 || code === 'idempotency_key_in_use'
}

export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

function queryText(query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** Describes the cause, because the message of `fetch` is only "fetch failed". */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string; message?: string } }
  return cause?.code ?? cause?.message ?? message
}
