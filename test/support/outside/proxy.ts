import { request as send } from 'node:http'
import type { TestContext } from 'node:test'
import { startLocalServer } from './local-server.ts'

/** A proxy. It receives the whole URL and passes the request on, here always to the same server. */
export async function startProxy(t: TestContext, to: { url: string }) {
  const asked: string[] = []
  const { url, close } = await startLocalServer((request, response) => {
    asked.push(request.url ?? '')
    const { pathname, search } = new URL(request.url ?? '')
    const upstream = send(new URL(pathname + search, to.url), {
      method: request.method ?? 'GET',
      headers: request.headers,
    })
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(upstream)
  })
  t.after(close)
  return { url, asked }
}
