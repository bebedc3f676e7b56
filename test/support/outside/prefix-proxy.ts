import { request } from 'node:http'
import { startLocalServer } from './local-server.ts'

export type PrefixProxy = { url: string; close(): Promise<void> }

/** A proxy that serves a service under a prefix of which the service knows nothing. Everything else is 404. */
export async function startPrefixProxy(target: string, prefix: string): Promise<PrefixProxy> {
  const server = await startLocalServer((incoming, response) => {
    const path = incoming.url ?? ''
    if (!path.startsWith(`${prefix}/`)) {
      response.writeHead(404).end()
      return
    }
    const { method, headers } = incoming
    const outgoing = request(target + path.slice(prefix.length), { method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  return { url: server.url + prefix, close: server.close }
}
