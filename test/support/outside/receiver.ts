import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { KEPT_OPEN } from './local-server.ts'
import { tlsText } from './tls.ts'

export interface Receiver {
  url: string
  port: number
  /** All connections so far. */
  sockets: Socket[]
}

/** A plain HTTP server on 127.0.0.1, closed when the test ends. */
export function receive(t: TestContext, listener: http.RequestListener): Promise<Receiver> {
  return listen(t, http.createServer(KEPT_OPEN, listener), 'http')
}

/** An HTTPS server with one of the certificates in fixtures/tls. */
export function receiveTls(t: TestContext, certificate: string, listener: http.RequestListener): Promise<Receiver> {
  const options = { ...KEPT_OPEN, cert: tlsText(`${certificate}.pem`), key: tlsText(`${certificate}-key.pem`) }
  return listen(t, https.createServer(options, listener), 'https')
}

/** A server without a protocol, for receivers that misbehave. */
export function receiveRaw(t: TestContext, listener: (socket: Socket) => void): Promise<Receiver> {
  return listen(t, createServer(listener), 'http')
}

async function listen(t: TestContext, server: Server, scheme: string): Promise<Receiver> {
  const sockets: Socket[] = []
  server.on('connection', (socket) => {
    sockets.push(socket)
    // Clients of these tests disconnect in the middle.
    socket.on('error', () => {})
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return { url: `${scheme}://127.0.0.1:${port}/`, port, sockets }
}
