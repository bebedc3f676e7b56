import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { GuardedClient, type GuardedFetch } from '../../src/security/outgoing/guarded-client.ts'
import { receive } from '../support/outside/receiver.ts'

const loopback = { allowInsecure: true, allowedCidrs: ['127.0.0.1'] }
const local = new GuardedClient(loopback).fetch

function resolvingTo(...addresses: string[]) {
  const asked: string[] = []
  const lookup = async (name: string) => {
    asked.push(name)
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return { asked, lookup }
}

describe('the guarded client as a fetch', () => {
  test('sends method, path, headers and body, and returns status, headers and body', async (t) => {
    const { url, port } = await receive(t, async (request, response) => {
      response.writeHead(
        201,
        'Made',
        [
          ['X-Two', 'a'],
          ['X-Two', 'b'],
          ['Set-Cookie', 'a=1'],
          ['Set-Cookie', 'b=2'],
        ].flat(),
      )
      response.end(JSON.stringify([request.method, request.url, request.headers, await text(request)]))
    })
    const response = await local(`${url}hook?a=1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-One': '1' },
      body: '{"ü":1}',
    })
    assert.equal(response.status, 201)
    assert.equal(response.statusText, 'Made')
    assert.equal(response.headers.get('x-two'), 'a, b')
    assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2'])
    assert.deepEqual(await response.json(), [
      'POST',
      '/hook?a=1',
      {
        accept: '*/*',
        'accept-encoding': 'identity',
        connection: 'keep-alive',
        'content-length': '8',
        'content-type': 'application/json',
        host: `127.0.0.1:${port}`,
        'user-agent': 'moorage',
        'x-one': '1',
      },
      '{"ü":1}',
    ])
  })

  test('accepts what fetch accepts, so libraries can use it', async (t) => {
    const { url } = await receive(t, async (request, response) => {
      response.end(`${request.method} ${request.headers['content-type']} ${await text(request)}`)
    })
    const fetch: typeof globalThis.fetch = local
    const say = async (...call: Parameters<GuardedFetch>) => (await fetch(...call)).text()
    assert.equal(await say(url), 'GET undefined ')
    assert.equal(await say(new URL(url), { method: 'put', body: new Uint8Array([104, 105]) }), 'PUT undefined hi')
    assert.equal(
      await say(url, { method: 'POST', body: new URLSearchParams({ a: 'b c' }) }),
      'POST application/x-www-form-urlencoded;charset=UTF-8 a=b+c',
    )
    assert.equal(
      await say(new Request(url, { method: 'DELETE', body: 'x', headers: { 'content-type': 'text/x' } })),
      'DELETE text/x x',
    )
    assert.equal(await say(url, { method: 'POST' }), 'POST undefined ')
  })

  test('streams the body: the first part is read before the second is written', async (t) => {
    const writeMore = Promise.withResolvers<void>()
    const { url } = await receive(t, async (_request, response) => {
      response.write('one')
      await writeMore.promise
      response.end('two')
    })
    const { body } = await local(url)
    const parts: string[] = []
    for await (const part of body ?? []) {
      parts.push(Buffer.from(part).toString())
      writeMore.resolve()
    }
    assert.deepEqual(parts, ['one', 'two'])
  })

  test('returns responses without a body', async (t) => {
    const { url } = await receive(t, (request, response) => {
      response.writeHead(Number(request.url?.slice(1)), { 'content-length': request.method === 'HEAD' ? 5 : 0 }).end()
    })
    const empty = await Promise.all([204, 205, 304].map((status) => local(`${url}${status}`)))
    assert.deepEqual(
      empty.map(({ status, body }) => [status, body]),
      [
        [204, null],
        [205, null],
        [304, null],
      ],
    )
    assert.equal(await (await local(`${url}200`, { method: 'HEAD' })).text(), '')
    assert.equal(await (await local(`${url}200`)).text(), '')
  })

  test('returns a redirect without following it', async (t) => {
    const paths: (string | undefined)[] = []
    const { url } = await receive(t, (request, response) => {
      paths.push(request.url)
      response.writeHead(307, { location: '/inside' }).end()
    })
    const modes = ['follow', 'manual', 'error'] as const
    for (const response of await Promise.all(modes.map((redirect) => local(url, { redirect })))) {
      assert.equal(response.status, 307)
      assert.equal(response.headers.get('location'), '/inside')
    }
    assert.deepEqual(paths, ['/', '/', '/'])
  })

  test('does not decompress a body', async (t) => {
    const packed = gzipSync('hello')
    const { url } = await receive(t, (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)
    })
    const response = await local(url, { headers: { 'accept-encoding': 'gzip' } })
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), packed)
  })

  test('reuses a connection for the next call to the same host, and closes it with the client', async (t) => {
    const client = new GuardedClient(loopback)
    const { url, port, sockets } = await receive(t, (_request, response) => void response.end('ok'))
    const say = async (target: string) => (await client.fetch(target)).text()
    await say(url)
    // A socket can be reused only after a turn of the event loop.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    await say(`${url}again`)
    assert.equal(sockets.length, 1)
    await say(`http://localhost:${port}/`)
    assert.equal(sockets.length, 2)
    await client.close()
    await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, 'close')))
    await assert.rejects(client.fetch(url), { code: 'reset' })
  })

  test('uses separate connections for simultaneous calls', async (t) => {
    const both = Promise.withResolvers<void>()
    let asked = 0
    const { url, sockets } = await receive(t, async (_request, response) => {
      asked += 1
      if (asked === 2) both.resolve()
      await both.promise
      response.end('ok')
    })
    const client = new GuardedClient(loopback)
    await Promise.all([client.fetch(url), client.fetch(url)])
    assert.equal(sockets.length, 2)
    await client.close()
  })

  test('allows no headers that frame the message or name the host', async (t) => {
    const { url, port } = await receive(t, (request, response) => void response.end(JSON.stringify(request.headers)))
    const headers = { host: 'internal', connection: 'upgrade', upgrade: 'h2c', 'content-length': '9', te: 'trailers' }
    const got = (await (await local(url, { headers })).json()) as Record<string, string>
    assert.deepEqual([got['host'], got['connection']], [`127.0.0.1:${port}`, 'keep-alive'])
    assert.deepEqual([got['upgrade'], got['te'], got['content-length']], [undefined, undefined, undefined])
  })

  test('refuses an invalid header without quoting its value', async () => {
    const headers = { authorization: 'Bearer secret\nX-Evil: 1' }
    await assert.rejects(local('http://127.0.0.1:9999/', { headers }), (error: Error & { code: string }) => {
      assert.equal(error.code, 'invalid_request')
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
    await assert.rejects(local('http://127.0.0.1:9999/', { method: 'CONNECT' }), { code: 'invalid_request' })
  })

  test('ignores a proxy from the environment', async (t) => {
    const proxy = await receive(t, (_request, response) => void response.end('proxy'))
    const { url } = await receive(t, (_request, response) => void response.end('direct'))
    const restore = http.setGlobalProxyFromEnv({ http_proxy: proxy.url, no_proxy: 'elsewhere.test' })
    try {
      assert.equal(await (await fetch(url)).text(), 'proxy')
      assert.equal(await (await local(url)).text(), 'direct')
    } finally {
      restore()
    }
  })
})

describe('the guarded client and addresses', () => {
  test('refuses a literal private address before a connection is opened', async (t) => {
    const { url, sockets, port } = await receive(t, (_request, response) => void response.end())
    const strict = new GuardedClient({ allowInsecure: true, allowedCidrs: [] }).fetch
    const hosts = ['127.0.0.1', '[::ffff:7f00:1]', '2130706433', 'localhost']
    const calls = hosts.map((host) => `http://${host}:${port}/`).flatMap((target) => [target, new Request(target)])
    await Promise.all(calls.map((call) => assert.rejects(strict(call), { code: 'blocked_address' })))
    await assert.rejects(new GuardedClient({ ...loopback, allowInsecure: false }).fetch(url), { code: 'invalid_url' })
    assert.equal(sockets.length, 0)
  })

  test('refuses a name if any of its addresses is private', async (t) => {
    const { port, sockets } = await receive(t, (_request, response) => void response.end())
    const answers = [
      ['127.0.0.1'],
      ['10.0.0.1'],
      ['1.1.1.1', '127.0.0.1'],
      ['127.0.0.1', '1.1.1.1'],
      ['2606:4700:4700::1111', '::ffff:127.0.0.1'],
      ['1.1.1.1', '169.254.169.254'],
      ['fe80::1%lo'],
      ['127.1'],
      ['example.com'],
    ]
    const blocked = answers.map((addresses) => {
      const { lookup } = resolvingTo(...addresses)
      const strict = new GuardedClient({ allowInsecure: true, allowedCidrs: [], lookup }).fetch
      return assert.rejects(strict(`http://hook.invalid:${port}/`), {
        code: 'blocked_address',
        message: 'the host name hook.invalid points to an address that is not public',
      })
    })
    await Promise.all(blocked)
    assert.equal(sockets.length, 0)
  })

  test('resolves a name once, and connects to the address that was checked', async (t) => {
    const { port } = await receive(t, (request, response) => void response.end(request.headers.host))
    const answers = ['127.0.0.1', '127.0.0.2']
    const asked: string[] = []
    const rebinding = new GuardedClient({
      ...loopback,
      lookup: async (name) => {
        asked.push(name)
        return [{ address: answers.shift() ?? '10.0.0.1', family: 4 }]
      },
    }).fetch
    // No resolver knows .invalid: a second resolution could only fail.
    const url = `http://rebind.invalid:${port}/`
    assert.equal(await (await rebinding(url)).text(), `rebind.invalid:${port}`)
    assert.deepEqual(asked, ['rebind.invalid'])
    await assert.rejects(rebinding(url), { code: 'blocked_address' })
    await assert.rejects(rebinding(url), { code: 'blocked_address' })
    assert.equal(asked.length, 3)
  })

  test('tries the next address if the first one refuses', async (t) => {
    const { port } = await receive(t, (_request, response) => void response.end('reached'))
    const { lookup } = resolvingTo('::1', '127.0.0.1')
    const both = new GuardedClient({ allowInsecure: true, allowedCidrs: ['::1', '127.0.0.1'], lookup }).fetch
    assert.equal(await (await both(`http://two.invalid:${port}/`)).text(), 'reached')
  })

  test('fails for a name without an address', async () => {
    const url = 'http://gone.invalid/'
    const { lookup } = resolvingTo()
    await assert.rejects(new GuardedClient({ ...loopback, lookup }).fetch(url), { code: 'dns_failed' })
    const failing = new GuardedClient({
      ...loopback,
      lookup: () => Promise.reject(new Error('SERVFAIL from 10.0.0.53')),
    }).fetch
    await assert.rejects(failing(url), {
      code: 'dns_failed',
      message: 'the host name gone.invalid could not be resolved',
    })
  })

  test('a malformed allowedCidrs entry prevents startup', () => {
    assert.throws(
      () => new GuardedClient({ allowInsecure: false, allowedCidrs: ['10.0.0.0/99'] }).fetch,
      /10\.0\.0\.0\/99/,
    )
  })
})
