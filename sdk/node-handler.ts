import { problem } from './problem.ts'

/** The parts of a node:http request that are used here. */
type NodeRequest = AsyncIterable<Uint8Array> & {
  method?: string | undefined
  url?: string | undefined
  headers: Readonly<Record<string, string | string[] | undefined>>
}

type NodeReply = {
  on(event: 'close', listener: () => void): unknown
  writeHead(status: number, headers: Record<string, string>): unknown
  write(piece: Uint8Array): unknown
  end(): unknown
  destroy(): unknown
}

export type NodeHandlerOptions = {
  /** The maximum size of a body in bytes. Default: 64 MiB. Larger bodies get 413. */
  maxBytes?: number
}

/**
 * A call can contain 4 MiB of files in base64 and 16 MiB of steps, in addition to the message, the history and the
 * tools.
 */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Turns a handler of `Request`s into a handler for node:http and Express. The body must not have been read before. A
 * request that can't be represented as a web `Request` gets 400. Errors that `serve` throws are passed on.
 */
export function toNodeHandler(
  serve: (request: Request) => Promise<Response>,
  { maxBytes = MAX_BYTES }: NodeHandlerOptions = {},
): (request: NodeRequest, reply: NodeReply) => Promise<void> {
  return async (message, reply) => {
    const stop = new AbortController()
    reply.on('close', () => stop.abort())
    let body: Blob | 'too large'
    try {
      body = await readBody(message, maxBytes)
    } catch {
      // The client disconnected while sending the body.
      reply.destroy()
      return
    }
    await send(await answer(), reply)

    async function answer(): Promise<Response> {
      if (body === 'too large') return problem(413, `The body can be at most ${maxBytes} bytes.`)
      const request = webRequest(message, body, stop.signal)
      return request ? serve(request) : problem(400, 'The method or URL is not valid for a web server.')
    }
  }
}

/**
 * Reads the body. A body that is too large is read to its end and discarded, because most clients read the reply only
 * after they have sent everything.
 */
async function readBody(message: NodeRequest, maxBytes: number): Promise<Blob | 'too large'> {
  let pieces: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for await (const piece of message) {
    size += piece.length
    if (size <= maxBytes) pieces.push(piece as Uint8Array<ArrayBuffer>)
    else pieces = []
  }
  return size <= maxBytes ? new Blob(pieces) : 'too large'
}

/** Undefined for a URL such as `//`, and for a method that a web `Request` can't have, such as TRACE. */
function webRequest(message: NodeRequest, body: Blob, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url = '/', headers } = message
  const hasBody = method !== 'GET' && method !== 'HEAD'
  try {
    const init = { method, headers: webHeaders(headers), body: hasBody ? body : null, signal }
    return new Request(new URL(url, 'http://localhost'), init)
  } catch {
    return undefined
  }
}

async function send(response: Response, reply: NodeReply): Promise<void> {
  reply.writeHead(response.status, Object.fromEntries(response.headers))
  const reader = response.body?.getReader()
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) reply.write(read.value)
  reply.end()
}

function webHeaders(headers: NodeRequest['headers']): Headers {
  const web = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) web.append(name, one)
  }
  return web
}
