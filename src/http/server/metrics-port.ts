import type { Socket } from 'node:net'
import { isLoopback } from '../../lib/loopback.ts'
import { PROMETHEUS_TYPE, prometheusText } from '../../telemetry/prometheus-text.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'

/**
 * Few programs read metrics, and other clients of this port must not use up the handles of the service's own port. An
 * answer takes milliseconds, so the oldest connection is closed for a new one.
 */
const MOST_CONNECTIONS = 16
const ASKS_WITHIN_MS = 2_000
const KEEP_ALIVE_MS = 20_000
const LIMITS = {
  connectionsCheckingInterval: 500,
  headersTimeout: ASKS_WITHIN_MS,
  requestTimeout: ASKS_WITHIN_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
}

/** Serves Prometheus on its own port, without a key. The network must restrict who can reach that port. */
export async function openMetricsPort(
  telemetry: Telemetry,
  { host, port }: { host: string; port: number },
): Promise<{ port: number; close(): Promise<void> }> {
  const isOwn = isLoopback(host) || host === '::1'
  const { createServer } = process.getBuiltinModule('node:http')
  const server = createServer(LIMITS, (request, response) => {
    // Another site's page can point its own name at this machine and would then be able to read the answer.
    if (isOwn && !isLoopback(nameOf(request.headers.host))) {
      response
        .writeHead(421, { 'Content-Type': 'text/plain; charset=utf-8' })
        .end("Use this machine's address, such as 127.0.0.1\n")
      return
    }
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response
        .writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' })
        .end('This port serves only GET /metrics\n')
      return
    }
    telemetry.read().then(
      (readings) => response.writeHead(200, { 'Content-Type': PROMETHEUS_TYPE }).end(prometheusText(readings)),
      () => response.writeHead(500).end(),
    )
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)))
    const [oldest] = sockets
    if (sockets.size > MOST_CONNECTIONS) oldest?.destroy()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => reject(new Error(`server.metricsPort: ${message}`)))
    server.listen(port, host, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The name in a Host header, without its port. */
function nameOf(host = ''): string {
  return host.replace(/:\d*$/, '')
}
