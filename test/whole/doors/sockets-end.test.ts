import assert from 'node:assert/strict'
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { TLS_SETTINGS, tlsCall } from '../../support/outside/tls.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { type Service, type Settings, startService } from '../../support/service/service.ts'

const CONNECTIONS = 60
const SOON_MS = 20_000

/** A TLS record that says that a handshake of 512 bytes follows. */
const BEGUN_HANDSHAKE = Buffer.from([0x16, 3, 1, 2, 0, 1])

async function start(t: TestContext, settings: Settings): Promise<Service> {
  const service = await startService('sqlite', { MOORAGE_SERVER__REQUEST_TIMEOUT: '1s', ...settings })
  t.after(() => service.stop())
  return service
}

/** Connections of clients that never close their side, each with what it has sent. */
function openMany(t: TestContext, port: string | undefined, sent: readonly (Buffer | string)[]) {
  const ended = new Set<Socket>()
  const sockets = Array.from({ length: CONNECTIONS }, (_, i) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => ended.add(socket)).on('close', () => ended.add(socket))
    const bytes = sent[i % sent.length] ?? ''
    socket.once('connect', () => bytes.length > 0 && socket.write(bytes)).resume()
    return socket
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  /** A server that has closed a socket replies to another byte with a reset; one that has only ended its side does not. */
  return async (count: number) =>
    until(
      `${count} have ended`,
      () => {
        for (const socket of sockets) if (socket.readableEnded && !ended.has(socket)) socket.write('x')
        return ended.size >= count
      },
      SOON_MS,
    )
}

describe('every connection ends in time', () => {
  test('TLS handshakes that are not begun, or not ended', async (t) => {
    const service = await start(t, TLS_SETTINGS)
    const untilEnded = openMany(t, new URL(service.url).port, ['', BEGUN_HANDSHAKE])
    await untilEnded(CONNECTIONS)
    assert.equal((await tlsCall(service.url, 'GET', '/healthz', { key: null })).status, 200)
  })

  test('those of clients that were answered and do not close their side', async (t) => {
    const service = await start(t, {})
    const head = 'GET /v1/agents HTTP/1.1\r\nHost: localhost\r\n'
    const untilEnded = openMany(t, new URL(service.url).port, [
      '',
      'no HTTP\r\n\r\n',
      head,
      `${head}Connection: close\r\n\r\n`,
    ])
    await untilEnded(CONNECTIONS)
  })

  test('on the port for Prometheus, which takes few at a time', async (t) => {
    const service = await start(t, { MOORAGE_SERVER__METRICS_PORT: '0' })
    const [, port] = /"port":(\d+),"msg":"Prometheus/.exec(service.log()) ?? assert.fail(service.log())
    const untilEnded = openMany(t, port, ['', 'GET /metrics HTTP/1.1\r\n'])
    await untilEnded(CONNECTIONS - 16)
    assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 200, 'they keep nobody out')
    await untilEnded(CONNECTIONS)
    assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 200)
  })
})

describe('when file handles run out', () => {
  test('the IP address with most connections loses some to others, and gets no new ones', async (t) => {
    const service = await startChildService(t, 'sqlite', {}, { openFiles: 320 })
    const { port } = new URL(service.url())
    const ask = (localAddress: string) =>
      new Promise<{ status: number | undefined; end(): void }>((resolve, reject) => {
        const agent = new Agent({ keepAlive: true })
        const request = get(
          { host: '127.0.0.1', port, path: '/healthz', agent, localAddress, method: 'GET' },
          (response) => {
            response.resume().on('end', () => resolve({ status: response.statusCode, end: () => agent.destroy() }))
          },
        )
        request.on('error', reject)
        t.after(() => agent.destroy())
      })
    // Each connection stays open without a request.
    let last: number | undefined = 200
    for (let i = 0; i < 400 && last === 200; i++) last = (await ask('127.0.0.1')).status
    assert.equal(last, 503)
    for (let i = 0; i < 20; i++) assert.equal((await ask('127.0.0.2')).status, 200)
    assert.equal((await ask('127.0.0.3')).status, 200)
  })
})
