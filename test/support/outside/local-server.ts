import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export type LocalServer = { url: string; host: string; close(): Promise<void> }

/** The settings of a service whose tools can call such a server. */
export const LOCAL_TOOLS = {
  MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
  MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.0/8',
}

/**
 * A URL on which nothing listens: systems assign no port below 1024, and `fetch` doesn't refuse this port as it does
 * port 1.
 */
export const NOWHERE = 'http://127.0.0.1:2'

/**
 * Long enough that the server doesn't close a connection just when a client uses it again, even if the process is
 * suspended for a while.
 */
export const KEPT_OPEN = { keepAliveTimeout: 600_000 }

/** A real HTTP server on a free loopback port. */
export async function startLocalServer(listener: RequestListener): Promise<LocalServer> {
  const server = createServer(KEPT_OPEN, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}`,
    host,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
