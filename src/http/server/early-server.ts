import type { Server as HttpServer, RequestListener } from 'node:http'
import type { Config } from '../../config.ts'
import { unavailable } from '../../errors.ts'
import { idSource } from '../../lib/id.ts'
import type { MigrationWatch } from '../../storage/schema/migration-watch.ts'
import { dialectOf } from '../dialects/dialects.ts'
import { Connections } from './connections/connections.ts'
import { createHttpServer, listen } from './connections/http-server.ts'
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
