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
}

type Answer = Dispatcher.ResponseData

const NO_BODY = new Set([204, 205, 304])

/** Sends one request. Resolves with a standard Response whose body is still arriving. */
export async function exchange(
  agent: Agent,
  { url, method, max_bytes, stop, ...message }: Exchange,
): Promise<Response> {
  const host = urlHost(url)
  const origin = `${url.protocol}//${host.includes(':') ? `[${host}]` : host}${url.port && `:${url.port}`}`
  const path = url.pathname + url.search
  const request = { ...message, origin, path, method: method as Dispatcher.HttpMethod, signal: stop.signal }
  const answer = await stop.race(agent.request(request)).catch((error: unknown) => {
    throw explain(error, 'head', host)
  })
  answer.body.on('error', () => {})
  answer.body.once('close', () => stop.release())
  try {
    return responseOf(answer, host, max_bytes)
  } catch (cause) {
    answer.body.destroy()
    throw new GuardedFetchError('invalid_response', 'the response has an invalid status or header', { cause })
  }
}

function responseOf(answer: Answer, host: string, max_bytes: number | undefined): Response {
  const { statusCode: status, statusText } = answer
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(answer.headers)) {
    for (const value of [values].flat()) headers.append(name, value)
  }
  const hasBody = !NO_BODY.has(status)
  const response = new Response(hasBody ? streamOf(answer, host, max_bytes) : null, { status, statusText, headers })
  if (!hasBody) answer.body.resume()
  return response
}

function streamOf({ body }: Answer, host: string, max_bytes = Infinity): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  let received = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next().catch((error: unknown) => {
          throw explain(error, 'body', host)
        })
        if (next.done) return controller.close()
        received += next.value.byteLength
        if (received > max_bytes) {
          body.destroy()
          throw new GuardedFetchError('too_large', `the response is longer than ${max_bytes} bytes`)
        }
        controller.enqueue(next.value)
      },
      cancel: () => void body.destroy(),
    },
    { highWaterMark: 0 },
  )
}
