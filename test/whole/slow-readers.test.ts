import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { head } from '../support/clients/raw.ts'
import { TLS_SETTINGS } from '../support/outside/tls.ts'
import { until } from '../support/running/until.ts'
import { type ChildService, startChildService } from '../support/service/child-service.ts'

const MEGABYTE = 1024 * 1024
const STALLS = { MOORAGE_SERVER__STALL_TIMEOUT: '1s', MOORAGE_SERVER__REQUEST_TIMEOUT: '60s' }
const KEEP_ALIVE = { Connection: 'keep-alive' }
const UNFINISHED = 'GET / HTTP/1.1\r\nX-Endless: '

/** Clients that ask for much, all at once on each connection, and read nothing of it. */
async function neverReading(t: TestContext, count: number, dial: () => Socket, requests: string): Promise<Socket[]> {
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < count; i++) {
    const socket = dial()
    sockets.push(socket)
    await once(socket, 'encrypted' in socket ? 'secureConnect' : 'connect')
    socket.on('error', () => {})
    socket.pause()
    socket.write(requests + UNFINISHED)
  }
  return sockets
}

/**
 * Resolves with the most memory that the service used until the connections were dropped. A client that does not read
 * hears of that only when it writes; to send a byte now and then does not save it. A few may be left: those for whom the
 * system itself has room for all their replies.
 */
async function memoryUntilDropped(service: ChildService, sockets: Socket[]): Promise<number> {
  let most = 0
  await until('the connections are dropped', async () => {
    const left = sockets.filter((socket) => !socket.destroyed)
    for (const socket of left) socket.write('x')
    most = Math.max(most, memoryOf(service))
    await delay(200)
    return left.length < sockets.length / 10
  })
  return most
}

function memoryOf(service: ChildService): number {
  return Number(execFileSync('sh', ['-c', `ps -o rss= -p ${service.pid()}`]).toString()) * 1024
}

function assertLittle(grown: number): void {
  assert.ok(grown < 120 * MEGABYTE, `${Math.round(grown / MEGABYTE)} MB more`)
}

/** A hundred clients, each with so many requests for a large page. */
async function assertPinsLittle(t: TestContext, service: ChildService, requests: number): Promise<void> {
  const { hostname, port } = new URL(service.url())
  await (await fetch(`${service.url()}/docs`)).text()
  const used = memoryOf(service)
  const dial = () => connect(Number(port), hostname)
  const sockets = await neverReading(t, 100, dial, head('GET /docs', KEEP_ALIVE).repeat(requests))
  assertLittle((await memoryUntilDropped(service, sockets)) - used)
}

describe('clients that never read', () => {
  test('are dropped immediately if each sends hundreds of pipelined requests', async (t) => {
    const service = await startChildService(t, 'sqlite')
    // A connection that stalls would have 30 s here: these do not get as far as that.
    await assertPinsLittle(t, service, 500)
  })

  test('use little memory over TLS with 30 requests each, and are dropped when they stall', async (t) => {
    const service = await startChildService(t, 'sqlite', { ...STALLS, ...TLS_SETTINGS })
    const { hostname, port } = new URL(service.url())
    const dial = () => connectTls({ port: Number(port), host: hostname, rejectUnauthorized: false })
    await memoryUntilDropped(service, await neverReading(t, 1, dial, head('GET /docs', KEEP_ALIVE).repeat(30)))
    const used = memoryOf(service)
    const sockets = await neverReading(t, 50, dial, head('GET /docs', KEEP_ALIVE).repeat(30))
    assertLittle((await memoryUntilDropped(service, sockets)) - used)
  })
})

describe('clients that never read, with a service that drops stalled connections', () => {
  let service: ChildService
  let end: () => Promise<void>
  before(async () => {
    const group = { after: (ending: typeof end) => void (end = ending) }
    service = await startChildService(group, 'sqlite', STALLS)
  })
  after(() => end())

  test('use little memory with 30 requests each, and are dropped when they stall', async (t) => {
    await assertPinsLittle(t, service, 30)
  })

  test('use little memory with streams, too', async (t) => {
    const { hostname, port } = new URL(service.url())
    const { data } = await service.call('POST', '/v1/agents/hello/invoke', { message: '€'.repeat(100_000) })
    const stream = `GET /v1/agents/hello/invocations/${data.request_id}/stream`
    const asked = head(stream, { ...KEEP_ALIVE, Authorization: `Bearer ${service.admin}` })
    const used = memoryOf(service)
    const sockets = await neverReading(t, 30, () => connect(Number(port), hostname), asked.repeat(30))
    assertLittle((await memoryUntilDropped(service, sockets)) - used)
  })
})
