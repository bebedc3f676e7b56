import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { GuardedClient } from '../../src/security/outgoing/guarded-client.ts'
import { type Receiver, receive, receiveRaw } from '../support/outside/receiver.ts'
import { tlsText } from '../support/outside/tls.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'

const local = new GuardedClient({ allowInsecure: true, allowedCidrs: ['127.0.0.1'], ca: [tlsText('ca.pem')] }).fetch

async function hungUp({ sockets }: Receiver): Promise<void> {
  await Promise.all(
    sockets.map((socket) => socket.destroyed || new Promise((resolve) => socket.once('close', resolve))),
  )
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

describe('a receiver that misbehaves', () => {
  test('never answers', async (t) => {
    const silent = await receive(t, () => {})
    await assert.rejects(local(silent.url, { timeout_ms: 50 }), {
      code: 'timeout',
      name: 'TimeoutError',
      message: 'no complete response within 50 ms',
    })
    await hungUp(silent)
  })

  test('never finishes the TLS handshake', async (t) => {
    const silent = await receiveRaw(t, (socket) => socket.resume())
    await assert.rejects(local(silent.url.replace('http', 'https'), { timeout_ms: 50 }), { code: 'timeout' })
    await hungUp(silent)
  })

  test('has a name that never resolves', async () => {
    const lost = new GuardedClient({ allowInsecure: true, allowedCidrs: [], lookup: () => new Promise(() => {}) }).fetch
    await assert.rejects(lost('http://slow.invalid/', { timeout_ms: 20 }), { code: 'timeout' })
  })

  test('drips its body', async (t) => {
    const dripping = await receive(t, (_request, response) => {
      const timer = setInterval(() => response.write('.'), 5)
      response.once('close', () => clearInterval(timer))
    })
    // The machine may be so busy that the time is over before the head has come.
    const response = await until('a head', () =>
      local(dripping.url, { timeout_ms: 300 }).catch((error) => {
        assert.equal(error.code, 'timeout')
        return undefined
      }),
    )
    assert.equal(response.status, 200)
    await assert.rejects(response.text(), { code: 'timeout' })
    await hungUp(dripping)
  })

  test('sends without end: the body stops at max_bytes', async (t) => {
    let sent = 0
    const endless = await receive(t, (_request, response) => {
      const chunk = Buffer.alloc(64 * 1024)
      const fill = () => {
        do sent += chunk.length
        while (!response.destroyed && response.write(chunk))
      }
      response.on('drain', fill)
      fill()
    })
    const response = await local(endless.url, { max_bytes: 1_000_000 })
    assert.equal(response.status, 200)
    await assert.rejects(response.arrayBuffer(), {
      code: 'too_large',
      message: 'the response is longer than 1000000 bytes',
    })
    await hungUp(endless)
    assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were taken`)
  })

  test('sends without end and no one reads: the socket is not drained into memory', async (t) => {
    const blocked = Promise.withResolvers<number>()
    const endless = await receiveRaw(t, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      let sent = 0
      const chunk = Buffer.alloc(64 * 1024)
      const send = () => {
        const stalled = setTimeout(() => blocked.resolve(sent), 100)
        socket.write(chunk, (error) => {
          clearTimeout(stalled)
          if (error) return
          sent += chunk.length
          if (sent < 256 * 1024 * 1024) send()
          else blocked.resolve(sent)
        })
      }
      send()
    })
    const response = await local(endless.url)
    assert.ok((await blocked.promise) < 64 * 1024 * 1024)
    await response.body?.cancel()
    await hungUp(endless)
  })

  test('exactly max_bytes are fine', async (t) => {
    const { url } = await receive(t, (_request, response) => void response.end('12345'))
    assert.equal(await (await local(url, { max_bytes: 5 })).text(), '12345')
    await assert.rejects((await local(url, { max_bytes: 4 })).text(), { code: 'too_large' })
  })

  test('refuses the connection', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    await assert.rejects(local(`http://127.0.0.1:${port}/`), {
      code: 'connect_failed',
      message: `could not connect to 127.0.0.1:${port} (ECONNREFUSED)`,
    })
  })

  const raw: Record<string, { does: (socket: Socket) => void; code: string }> = {
    'resets at once': { does: (socket) => socket.resetAndDestroy(), code: 'reset' },
    'hangs up without a word': { does: (socket) => socket.end(), code: 'reset' },
    'hangs up inside the headers': { does: (socket) => socket.end('HTTP/1.1 200 OK\r\nX-Half'), code: 'reset' },
    'speaks no HTTP': { does: (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'), code: 'invalid_response' },
    'sends endless headers': {
      does: (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'X-Long: aaaaaaaaaaaaaaaa\r\n'.repeat(5000)}`),
      code: 'invalid_response',
    },
    'sends a status that does not exist': {
      does: (socket) => socket.end('HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n'),
      code: 'invalid_response',
    },
    'switches protocols': {
      does: (socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      code: 'reset',
    },
    'contradicts itself about the length': {
      does: (socket) =>
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
      code: 'invalid_response',
    },
  }
  for (const [name, { does, code }] of Object.entries(raw)) {
    test(name, async (t) => {
      const receiver = await receiveRaw(t, (socket) => void socket.once('data', () => does(socket)))
      await assert.rejects(local(receiver.url, { timeout_ms: 5000 }), { code })
      await hungUp(receiver)
    })
  }

  const broken = {
    'breaks off inside the body': 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345',
    'breaks off inside a chunk': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123',
  }
  for (const [name, answer] of Object.entries(broken)) {
    test(name, async (t) => {
      const { url } = await receiveRaw(t, (socket) => void socket.once('data', () => socket.end(answer)))
      const response = await local(url)
      assert.equal(response.status, 200)
      await assert.rejects(response.text(), { code: 'reset' })
    })
  }
})

describe('abort', () => {
  test('before the call: no connection is opened', async (t) => {
    const receiver = await receive(t, () => {})
    await assert.rejects(local(receiver.url, { signal: AbortSignal.abort() }), { code: 'aborted', name: 'AbortError' })
    await assert.rejects(local(new Request(receiver.url, { signal: AbortSignal.abort() })), { code: 'aborted' })
    assert.equal(receiver.sockets.length, 0)
  })

  test('while waiting for the reply: the connection is closed', async (t) => {
    const controller = new AbortController()
    const receiver = await receive(t, () => controller.abort())
    await assert.rejects(local(receiver.url, { signal: controller.signal }), { code: 'aborted' })
    await hungUp(receiver)
  })

  test('by AbortSignal.timeout: the error is a timeout', async (t) => {
    const { url } = await receive(t, () => {})
    await assert.rejects(local(url, { signal: AbortSignal.timeout(20) }), { code: 'timeout', name: 'TimeoutError' })
  })

  test('while the body is being read', async (t) => {
    const controller = new AbortController()
    const receiver = await receive(t, (_request, response) => void response.write('one'))
    const response = await local(receiver.url, { signal: controller.signal })
    const reader = response.body?.getReader()
    assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), 'one')
    const pending = assert.rejects(reader?.read() ?? Promise.resolve(), { code: 'aborted' })
    controller.abort()
    await pending
    await hungUp(receiver)
  })

  test('after the last byte has arrived but before it is read: the body is never cut silently', async (t) => {
    const controller = new AbortController()
    const sent = Promise.withResolvers<void>()
    const { url } = await receive(t, (_request, response) => {
      response.once('finish', sent.resolve)
      response.end(Buffer.alloc(128 * 1024))
    })
    const response = await local(url, { signal: controller.signal })
    await sent.promise
    controller.abort()
    await assert.rejects(response.arrayBuffer(), { code: 'aborted' })
  })

  test('by cancelling the reader closes the connection, even during a read', async (t) => {
    const receiver = await receive(t, (_request, response) => response.flushHeaders())
    const reader = (await local(receiver.url)).body?.getReader()
    const pending = reader?.read()
    await reader?.cancel()
    assert.deepEqual(await pending, { done: true, value: undefined })
    await hungUp(receiver)
  })

  test('listeners and timers are removed after each call', { timeout: 240_000 * PATIENCE }, async (t) => {
    const { url } = await receive(t, (_request, response) => void response.end('ok'))
    const { signal } = new AbortController()
    const before = timers()
    const call = async () => (await local(url, { signal, timeout_ms: 60_000 })).text()
    assert.deepEqual(await Promise.all([call(), call()]), ['ok', 'ok'])
    const left = () => getEventListeners(signal, 'abort').length + Math.max(0, timers() - before)
    while (left() > 0) await new Promise(setImmediate)
  })
})
