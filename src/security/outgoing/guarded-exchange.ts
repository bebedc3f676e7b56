import type { Agent, Dispatcher } from 'undici'
import { explain, GuardedFetchError } from './guarded-error.ts'
import { urlHost } from './guarded-url.ts'
import type { Stop } from './stop.ts'

type Exchange = {
  url: URL
  method: string
  headers: Record<string, string>
  body: Uint8Array | null
  max_bytes: number | undefined
  stop: Stop
  /** Called once the request has a socket, or needs none any more. */
  stopWaiting: () => void
}

const NO_BODY = new Set([204, 205, 304])
const BUFFERED_BYTES = 64 * 1024

/** One request and its answer, as the platform's Response whose body is still arriving. */
export function exchange(agent: Agent, { url, method, headers, body, ...rest }: Exchange): Promise<Response> {
  const host = urlHost(url)
  const origin = `${url.protocol}//${host.includes(':') ? `[${host}]` : host}${url.port && `:${url.port}`}`
  const answer = new Answer(host, rest)
  agent.dispatch(
    { origin, path: url.pathname + url.search, method: method as Dispatcher.HttpMethod, headers, body },
    answer,
  )
  return answer.response
}

/** Hears of an exchange and tells it as a Response. */
class Answer implements Dispatcher.DispatchHandler {
  readonly response: Promise<Response>
  readonly #host: string
  readonly #max_bytes: number
  readonly #stop: Stop
  readonly #stopWaiting: () => void
  readonly #resolve: (response: Response) => void
  readonly #reject: (error: GuardedFetchError) => void
  #controller: Dispatcher.DispatchController | undefined
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  #received = 0
  #isOver = false

  constructor(
    host: string,
    { max_bytes = Infinity, stop, stopWaiting }: Pick<Exchange, 'max_bytes' | 'stop' | 'stopWaiting'>,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    this.response = promise
    this.#resolve = resolve
    this.#reject = reject
    this.#host = host
    this.#max_bytes = max_bytes
    this.#stop = stop
    this.#stopWaiting = stopWaiting
    stop.signal.addEventListener('abort', () => this.#fail(stop.signal.reason))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#stopWaiting()
    if (this.#isOver) controller.abort(new GuardedFetchError('aborted', 'nobody waits for it'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    fields: Record<string, string | string[] | undefined>,
    statusText = '',
  ): void {
    // Early hints and the like come before the answer.
    if (status < 200) return
    try {
      const headers = new Headers()
      for (const [name, values] of Object.entries(fields)) {
        for (const value of [values ?? []].flat()) headers.append(name, value)
      }
      this.#resolve(new Response(NO_BODY.has(status) ? null : this.#stream(), { status, statusText, headers }))
    } catch (cause) {
      this.#fail(new GuardedFetchError('invalid_response', 'the answer has an invalid status or header', { cause }))
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#body || this.#isOver) return
    this.#received += chunk.byteLength
    if (this.#received > this.#max_bytes) {
      this.#fail(new GuardedFetchError('too_large', `the answer is longer than ${this.#max_bytes} bytes`))
      return
    }
    this.#body.enqueue(chunk)
    if ((this.#body.desiredSize ?? 0) <= 0) controller.pause()
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#end()
    this.#body?.close()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(explain(error, this.#body ? 'body' : 'head', this.#host))
  }

  #stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (body) => {
          this.#body = body
        },
        pull: () => this.#controller?.resume(),
        cancel: () => {
          this.#end()
          this.#controller?.abort(new GuardedFetchError('aborted', 'the reader has given up'))
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES }),
    )
  }

  #fail(error: GuardedFetchError): void {
    if (this.#isOver) return
    this.#end()
    this.#reject(error)
    this.#body?.error(error)
    this.#controller?.abort(error)
  }

  #end(): void {
    this.#isOver = true
    this.#stopWaiting()
    this.#stop.release()
  }
}
