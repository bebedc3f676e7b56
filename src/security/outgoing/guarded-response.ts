import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import { GuardedFetchError } from './guarded-error.ts'

interface BodyLimits {
  max_bytes: number | undefined
  /** Aborted with the error that the reader of the body shall see. */
  signal: AbortSignal
  /** Turns what the socket reports into what the reader shall see. */
  explained: (error: unknown) => GuardedFetchError
  /** Closes the socket. */
  hangUp: () => void
}

const NO_BODY = new Set([204, 205, 304])
const BUFFERED_BYTES = 64 * 1024

/** The platform's Response over a node:http answer whose body is still arriving. */
export function responseOf(incoming: IncomingMessage, limits: BodyLimits): Response {
  const status = incoming.statusCode ?? 0
  const noBody = NO_BODY.has(status)
  try {
    const headers = new Headers()
    for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
      for (const value of values) headers.append(name, value)
    }
    const response = new Response(noBody ? null : bodyOf(incoming, limits), {
      status,
      statusText: incoming.statusMessage ?? '',
      headers,
    })
    if (noBody) incoming.resume()
    return response
  } catch (cause) {
    throw new GuardedFetchError('invalid_response', `the answer has an invalid status or header`, { cause })
  }
}

function bodyOf(incoming: IncomingMessage, { max_bytes = Infinity, signal, explained, hangUp }: BodyLimits) {
  let received = 0
  let open = true

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const fail = (error: GuardedFetchError) => {
          if (!open) return
          open = false
          controller.error(error)
          hangUp()
        }
        incoming.on('data', (chunk: Buffer) => {
          if (!open) return
          received += chunk.byteLength
          if (received > max_bytes) {
            fail(new GuardedFetchError('too_large', `the answer is longer than ${max_bytes} bytes`))
            return
          }
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) incoming.pause()
        })
        finished(incoming, (error) => {
          if (error) fail(explained(error))
          else if (open) controller.close()
          open = false
        })
        // Before the socket is gone: a dumped message may still report a clean end.
        signal.addEventListener('abort', () => fail(signal.reason))
      },
      pull() {
        incoming.resume()
      },
      cancel() {
        open = false
        hangUp()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES }),
  )
}
