import type { Dispatcher } from 'undici'
import { lazilyInTurn, PARTS_OF_UNDICI } from '../../lib/lazily.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { withoutEndingSlashes } from '../../lib/text/text.ts'

const undici = lazilyInTurn<typeof import('undici')>(...PARTS_OF_UNDICI, 'undici')

/** The proxies from the operator's environment. */
export type ProxySettings = { http?: string | undefined; https?: string | undefined; except?: string | undefined }

/** A connection to an address that was checked for this single request. Call `release` when the request has ended. */
type CheckedConnection = { dispatcher: Dispatcher; release(): void }

/** The guarded client: checks whether a URL may be called, and throws if not. */
export type Reach = (url: string, asked: { owner: string; signal: AbortSignal }) => Promise<CheckedConnection>

type Headers = Record<string, string | string[] | undefined>

/** Receives a reply as it arrives, without a stream in between: one call for each piece from the network. */
type ReplyReceiver = {
  /** Called when the whole request has been sent on a connection. */
  sent?(): void
  /** Not called for interim responses (1xx). */
  start(status: number, headers: Headers): void
  /** Returns true if the receiver has enough and doesn't wait for the end of the reply. */
  data(chunk: Buffer): boolean | void
}

export type SocketRequest = {
  method: 'GET' | 'POST'
  /** The path after the base URL. */
  path: string
  query?: string
  headers: Record<string, string>
  body?: string | AsyncIterable<Uint8Array>
  signal: AbortSignal
}

/** The connections to one provider. */
export type ProviderSockets = {
  /**
   * Resolves when the reply is complete, or when the receiver has enough of it. Rejects with the receiver's own error,
   * the signal's reason, or the connection's error. A redirect is a normal reply, because following it would send the
   * key to another server.
   */
  send(request: SocketRequest, receiver: ReplyReceiver): Promise<void>
  /** Closes the connections. Answers in progress are cut off. */
  close(): Promise<void>
}

/** For a URL that the operator chose. Opens as many connections as there are answers in progress. */
export function openSockets(baseUrl: string, proxy: ProxySettings = {}): ProviderSockets {
  const { http, https, except = '' } = proxy
  // The run has its own deadline, and a model may think for minutes before its first word.
  const options = { headersTimeout: 0, bodyTimeout: 0 }
  const isProxied = (http ?? https) !== undefined && !isLoopback(new URL(baseUrl).hostname)
  const open = async () => {
    const { Agent, EnvHttpProxyAgent } = await undici()
    return isProxied
      ? new EnvHttpProxyAgent({ ...options, httpProxy: http ?? '', httpsProxy: https ?? '', noProxy: except })
      : new Agent(options)
  }
  let dispatcher: Promise<Dispatcher> | undefined
  return {
    send: async (request, receiver) => dispatch(await (dispatcher ??= open()), baseUrl, request, receiver),
    close: async () => (await dispatcher)?.destroy(),
  }
}

/** For a URL that an API client chose. */
export function guardedSockets(baseUrl: string, reach: Reach, owner: string): ProviderSockets {
  return {
    async send(request, receiver) {
      const { dispatcher, release } = await reach(baseUrl, { owner, signal: request.signal })
      await dispatch(dispatcher, baseUrl, request, receiver).finally(release)
    },
    // The guarded client closes its own connections.
    close: async () => {},
  }
}

/** If the receiver has enough, the reply gets this time to end by itself, so the connection can be reused. */
const END_WITHIN_MS = 1_000

/** Undici accepts any iterable; its types only name streams. */
type Body = NonNullable<Dispatcher.DispatchOptions['body']>

/** A server may send faster than its text is read. After this many bytes, other work gets its turn. */
const BYTES_A_TURN = 128 * 1024

function dispatch(
  dispatcher: Dispatcher,
  baseUrl: string,
  { path, query, signal, body, ...message }: SocketRequest,
  receiver: ReplyReceiver,
): Promise<void> {
  const url = new URL(baseUrl)
  const search = [url.search.slice(1), query].filter(Boolean).join('&')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let controller: Dispatcher.DispatchController | undefined
  let taken = 0
  let ending: NodeJS.Timeout | undefined
  const abort = () => {
    // While there is no connection yet, the request is ended as soon as it starts.
    controller?.abort(signal.reason)
    reject(signal.reason)
  }
  if (signal.aborted) {
    abort()
    return promise
  }
  signal.addEventListener('abort', abort, { once: true })
  const release = () => {
    clearTimeout(ending)
    signal.removeEventListener('abort', abort)
  }
  const isWhole = body === undefined || typeof body === 'string'
  dispatcher.dispatch(
    {
      ...message,
      body: (isWhole ? (body ?? null) : telling(body, () => receiver.sent?.())) as Body | null,
      origin: url.origin,
      path: withoutEndingSlashes(url.pathname) + path + (search && `?${search}`),
    },
    {
      onRequestStart(begun) {
        controller = begun
        if (signal.aborted) begun.abort(signal.reason)
        else if (isWhole) receiver.sent?.()
      },
      onResponseStart(_controller, status, replyHeaders) {
        if (status >= 200) receiver.start(status, replyHeaders)
      },
      onResponseData(reply, chunk) {
        if (ending) return
        if (receiver.data(chunk) === true) {
          release()
          ending = setTimeout(() => reply.abort(new Error('the receiver has enough')), END_WITHIN_MS)
          ending.unref()
          resolve()
          return
        }
        taken += chunk.length
        if (taken < BYTES_A_TURN) return
        taken = 0
        reply.pause()
        setImmediate(() => reply.resume())
      },
      onResponseEnd() {
        release()
        resolve()
      },
      onResponseError(_controller, error) {
        release()
        reject(error)
      },
    },
  )
  return promise
}

async function* telling(body: AsyncIterable<Uint8Array>, isSent: () => void): AsyncGenerator<Uint8Array> {
  yield* body
  isSent()
}
