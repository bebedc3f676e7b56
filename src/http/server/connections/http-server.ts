import { once } from 'node:events'
import type { Server as HttpServer, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from '../../../config.ts'
import { HEADER_BYTES } from './broken-request.ts'
import { FairBody } from './connections.ts'
import { tlsOptions } from './tls.ts'

const KEEP_ALIVE_MS = 72_000
/** The longest time for a TLS handshake, if requests may take longer than that to arrive. */
const HANDSHAKE_MS = 10_000
/** The longest time for an upload. Other bodies have `server.requestTimeout`, which is checked where they are read. */
const LONGEST_REQUEST_MS = 3_600_000

// An import would read everything that these modules export, which loads Node's web client and takes long.
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

/** Node's HTTP server, with TLS if it is configured, and with the limits that apply to every request. */
export function createHttpServer({ requestTimeout, tls }: Config['server'], handle: RequestListener): HttpServer {
  const options = {
    maxHeaderSize: HEADER_BYTES,
    connectionsCheckingInterval: 1_000,
    headersTimeout: requestTimeout,
    requestTimeout: LONGEST_REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node would answer in its own format. `checkTransport` answers in ours.
    requireHostHeader: false,
    IncomingMessage: FairBody,
  }
  const server = tls
    ? https.createServer(
        { ...options, ...tlsOptions(tls), handshakeTimeout: Math.min(HANDSHAKE_MS, requestTimeout) },
        handle,
      )
    : http.createServer(options, handle)
  // Node would drop headers beyond its limit. `checkTransport` counts them and refuses the request.
  server.maxHeadersCount = 0
  server.on('checkExpectation', handle)
  return server
}

/** Resolves with the URL that people can open. */
export async function listen(server: HttpServer, { host, port, tls }: Config['server']): Promise<string> {
  server.listen({ host, port })
  await once(server, 'listening')
  const bound = server.address() as AddressInfo
  return `${tls ? 'https' : 'http'}://${reachable(bound)}:${bound.port}`
}

/** The address at which people can reach a server that listens on all addresses. */
function reachable({ address }: AddressInfo): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  if (address === '::') return '[::1]'
  return address.includes(':') ? `[${address}]` : address
}
