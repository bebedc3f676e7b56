import { once } from 'node:events'
import type { Server as HttpServer, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from '../../config.ts'
import { unavailable } from '../../errors.ts'
import { idSource } from '../../lib/id.ts'
import type { MigrationWatch } from '../../storage/schema/migration-watch.ts'
import { dialectOf } from '../dialects/dialects.ts'
import { HEADER_BYTES } from './connections/broken-request.ts'
import { Connections, FairBody } from './connections/connections.ts'
import { tlsOptions } from './connections/tls.ts'
import { probePages } from './probe-pages.ts'
import { sendPage } from './replies/send-page.ts'

/** The service's HTTP server while the service starts. */
export type EarlyServer = {
  server: HttpServer
  connections: Connections
  url: string
  /** Makes `handle` answer all further requests. Returns the service's URL. */
  handOver(handle: RequestListener): string
  close(): Promise<void>
}

const RETRY_AFTER_MS = 5_000

/**
 * Listens before the store is opened, because a migration may take an hour. Health checks then see that the process is
 * alive, and how far the migration is. All other requests are refused.
 */
export async function openEarly(config: Config['server'], migrations: MigrationWatch): Promise<EarlyServer> {
  const newId = idSource()
  const doing = () => migrations.doing ?? 'the service is starting'
  const probes = probePages(async () => ({ reason: doing(), migration: migrations.running }))
  const refuse: RequestListener = (request, response) => {
    const [path = ''] = (request.url ?? '/').split('?')
    const dialect = dialectOf(path)
    const request_id = newId('req', Date.now())
    // The service may have started by the next request, so that request must come on a new connection, which the
    // service tracks from its start.
    response.shouldKeepAlive = false
    const probe = probes[path === '/health' ? '/healthz' : path]
    const rendered = dialect.error(unavailable(`Not ready: ${doing()}`, RETRY_AFTER_MS), request_id)
    const refusal = { ...rendered, body: Buffer.from(rendered.body) }
    Promise.resolve(probe ? probe() : refusal).then((page) => sendPage(response, dialect.headers(request_id), page))
  }

  const server = createHttpServer(config, refuse)
  const connections = new Connections()
  connections.watch(server, config.stallTimeout)
  const url = await listen(server, config)
  return {
    server,
    connections,
    url,
    handOver(handle) {
      for (const event of ['request', 'checkExpectation']) server.removeListener(event, refuse).on(event, handle)
      return url
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const KEEP_ALIVE_MS = 72_000
/** The longest time for a TLS handshake, if requests may take longer than that to arrive. */
const HANDSHAKE_MS = 10_000
/** The longest time for an upload. Other bodies have `server.requestTimeout`, which is checked where they are read. */
const LONGEST_REQUEST_MS = 3_600_000

// An import would read everything that these modules export, which loads Node's web client and takes long.
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

/** Node's HTTP server, with TLS if it is configured, and with the limits that apply to every request. */
function createHttpServer({ requestTimeout, tls }: Config['server'], handle: RequestListener): HttpServer {
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
async function listen(server: HttpServer, { host, port, tls }: Config['server']): Promise<string> {
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
