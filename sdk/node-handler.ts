/** A request of node:http, as far as it is needed here. */
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
}

/** A handler for node:http and Express out of one that takes a `Request`. The body may not have been read before. */
export function toNodeHandler(
  serve: (request: Request) => Promise<Response>,
): (request: NodeRequest, reply: NodeReply) => Promise<void> {
  return async (message, reply) => {
    const stop = new AbortController()
    reply.on('close', () => stop.abort())
    const { method = 'GET', url = '/', headers } = message
    const pieces: Uint8Array<ArrayBuffer>[] = []
    for await (const piece of message) pieces.push(piece as Uint8Array<ArrayBuffer>)
    const body = method === 'GET' || method === 'HEAD' ? null : new Blob(pieces)
    const init = { method, headers: webHeaders(headers), body, signal: stop.signal }
    const response = await serve(new Request(new URL(url, 'http://localhost'), init))
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    const reader = response.body?.getReader()
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) reply.write(read.value)
    reply.end()
  }
}

function webHeaders(headers: NodeRequest['headers']): Headers {
  const web = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) web.append(name, one)
  }
  return web
}
