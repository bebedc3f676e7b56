import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Webhook } from 'standardwebhooks'
import { serveAgent, toNodeHandler } from '../../sdk/client.ts'
import { head } from '../support/clients/raw.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { childEnv, startChild } from '../support/service/child.ts'

const PROGRAM = fileURLToPath(new URL('../support/outside/measured-remote.ts', import.meta.url))
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const MIB = 1024 * 1024

/** What strangers send to the port of an agent: they do not have its secret. */
describe('an agent on node:http, in a process of its own', () => {
  let child: ChildProcess
  let url: string
  beforeEach(async () => {
    const env = { ...childEnv(), AGENT_SECRET: secret }
    child = startChild(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(child.stdout as NonNullable<typeof child.stdout>, 'data')
    url = `http://127.0.0.1:${/port: (\d+)/.exec(String(line))?.[1]}`
  })
  afterEach(async () => {
    const ended = once(child, 'exit')
    if (child.kill('SIGKILL')) await ended
  })

  /** A call of the service: the agent answers with the most memory that its process has taken, in MiB. */
  async function call(): Promise<number> {
    const body = JSON.stringify({ message: 'Go', steps: [], said: '', steps_url: 'http://127.0.0.1:1/' })
    const at = new Date()
    const headers = {
      'webhook-id': 'req_1-1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('req_1-1', at, body),
    }
    const reply = await fetch(url, { method: 'POST', headers, body })
    const text = await reply.text()
    assert.equal(reply.status, 200, text)
    return Number(JSON.parse(/^event: delta\ndata: (.*)$/m.exec(text)?.[1] ?? '{}').text)
  }

  /** As no browser and no `fetch` would send it. */
  async function statusOf(method: string, path: string): Promise<number | undefined> {
    const asked = request(url, { method, path, agent: false })
    asked.end()
    const [reply] = await once(asked, 'response')
    reply.resume()
    return reply.statusCode
  }

  for (const [method, path] of [
    ['GET', '//'],
    ['POST', '//'],
    ['TRACE', '/'],
  ] as const) {
    test(`${method} ${path} is answered with 400, and the agent lives`, async () => {
      assert.equal(await statusOf(method, path), 400)
      assert.ok((await call()) > 0)
    })
  }

  test('a client that hangs up within its body is let go, and the agent lives', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    // The agent's server says that it wants the body: then it is being read.
    socket.write(head('POST /', { 'Content-Length': '100', Expect: '100-continue' }))
    await once(socket, 'data')
    socket.write('half of it')
    socket.resetAndDestroy()
    await once(socket, 'close')
    for (let i = 0; i < 3; i++) assert.ok((await call()) > 0)
  })

  test('hundreds of signatures that do not fit cost no more memory than one', async () => {
    const before = await call()
    const headers = {
      'webhook-id': 'req_1-1',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': `v1,${Buffer.alloc(6).toString('base64')} `.repeat(600),
    }
    const reply = await fetch(url, { method: 'POST', headers, body: Buffer.alloc(MIB) })
    assert.deepEqual([reply.status, await reply.json()], [401, { error: { message: 'no signature matches' } }])
    const taken = (await call()) - before
    assert.ok(taken < 100, `${taken} MiB`)
  })

  test('a body of more than 64 MiB is 413, whoever sent it', async () => {
    const { status } = await fetch(url, { method: 'POST', body: Buffer.alloc(64 * MIB + 1) })
    assert.equal(status, 413)
    assert.ok((await call()) > 0)
  })
})

test('toNodeHandler takes bodies up to the limit that it is given', async (t) => {
  const serve = serveAgent(() => 'never', { secret })
  const server = await startLocalServer(toNodeHandler(serve, { maxBytes: 10 }))
  t.after(() => server.close())
  for (const [length, status] of [
    [10, 401],
    [11, 413],
    [100_000, 413],
  ] as const) {
    const reply = await fetch(server.url, { method: 'POST', body: Buffer.alloc(length) })
    const { error } = (await reply.json()) as { error: { message: string } }
    assert.equal(reply.status, status, error.message)
    if (status === 413) assert.match(error.message, /\b10 bytes\b/)
  }
})
