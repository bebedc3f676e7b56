import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { assertStandardHeaders, head, sendRaw } from '../support/clients/raw.ts'
import { assertRefusal } from '../support/clients/refusal.ts'
import { type Reply, type Service, startService } from '../support/service/service.ts'

// What HTTP itself can be abused for. Nothing here reaches the store, so one engine stands for both.
describe('the HTTP layer', () => {
  let service: Service
  let auth: { Authorization: string }
  before(async () => {
    service = await startService('sqlite')
    auth = { Authorization: `Bearer ${service.admin}` }
  })
  after(() => service.stop())

  const send = (bytes: string | Buffer) => sendRaw(service.url, bytes)
  const sendOne = async (bytes: string | Buffer) => {
    const replies = await send(bytes)
    assert.equal(replies.length, 1, JSON.stringify(replies.map(({ text }) => text)))
    return replies[0] as Reply
  }

  describe('an unread request body', () => {
    for (const line of ['GET /healthz', 'GET /v1/agents', 'OPTIONS /v1/agents']) {
      test(`${line}: one reply, and nothing sent later is answered`, async () => {
        const { hostname, port } = new URL(service.url)
        const socket = connect(Number(port), hostname)
        const sent = { ...auth, Connection: 'keep-alive', 'Content-Length': '100' }
        socket.on('error', () => {})
        socket.write(`${head(line, sent)}abc`)
        const [first] = await once(socket, 'data')
        assert.match(String(first), /^HTTP\/1\.1 \d+ .*\r\nConnection: close\r\n/is)
        let more = ''
        socket.on('data', (chunk) => (more += chunk))
        socket.write(`${'x'.repeat(97)}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`)
        await once(socket, 'close')
        assert.doesNotMatch(more, /HTTP\/1\.1/)
      })
    }
  })

  test("404, not 405, for a path that only resembles a document's", async () => {
    for (const path of ['/v1/openapiXjson', '/llmsZtxt', '/v1/%61gents']) {
      const { status, body } = await service.call('GET', path)
      assert.deepEqual([status, body.error.code], [404, 'not_found'], path)
    }
  })

  describe('request smuggling: one reply, then the connection closes', () => {
    const smuggled = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const json = { 'Content-Type': 'application/json' }
    const broken: Record<string, () => string> = {
      'Content-Length beside Transfer-Encoding': () =>
        `${head('POST /v1/agents', { ...auth, ...json, 'Content-Length': '5', 'Transfer-Encoding': 'chunked' })}0\r\n\r\n${smuggled}`,
      'two different Content-Length': () =>
        `POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 50\r\n\r\n{}${smuggled}`,
      'two equal Content-Length': () =>
        `POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}${smuggled}`,
      'a negative Content-Length': () =>
        `${head('POST /v1/agents', { ...auth, ...json, 'Content-Length': '-2' })}{}${smuggled}`,
      'a Transfer-Encoding that is only almost chunked': () =>
        `${head('POST /v1/agents', { ...auth, ...json, 'Transfer-Encoding': 'xchunked' })}0\r\n\r\n${smuggled}`,
      'a chunk size that is no number': () =>
        `${head('POST /v1/agents', { ...auth, ...json, 'Transfer-Encoding': 'chunked' })}zz\r\n{}\r\n${smuggled}`,
      'a chunk extension of 20 kB': () =>
        `${head('POST /v1/agents', { ...auth, ...json, 'Transfer-Encoding': 'chunked' })}2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n${smuggled}`,
      'a folded header': () => `GET /v1/agents HTTP/1.1\r\nHost: localhost\r\nX-One: a\r\n X-Two: b\r\n\r\n${smuggled}`,
      'line feeds alone': () => `GET /v1/agents HTTP/1.1\nHost: localhost\n\n${smuggled}`,
      'a line feed alone between headers': () =>
        `GET /v1/agents HTTP/1.1\r\nHost: localhost\nX-One: a\r\n\r\n${smuggled}`,
      'a space before the colon': () => `GET /v1/agents HTTP/1.1\r\nHost : localhost\r\n\r\n${smuggled}`,
      'a body longer than its Content-Length': () =>
        `POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}trailing garbage\r\n\r\n${smuggled}`,
      'a NUL in a header': () => `GET /v1/agents HTTP/1.1\r\nHost: localhost\r\nX-One: a\0b\r\n\r\n${smuggled}`,
      'a carriage return in a header': () =>
        `GET /v1/agents HTTP/1.1\r\nHost: localhost\r\nX-One: a\rb\r\n\r\n${smuggled}`,
      'a method nobody knows': () => `SMUGGLE /v1/agents HTTP/1.1\r\nHost: localhost\r\n\r\n${smuggled}`,
      'the preface of HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'a TLS handshake': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    }
    for (const [name, bytes] of Object.entries(broken)) {
      test(`${name}: 400 in the error format`, async () => {
        const replies = await send(bytes())
        // A body that ends early is one request; what follows it is not another.
        const { status, headers, body } = replies.at(-1) as Reply
        assert.ok(
          replies.every((reply) => reply.status >= 400),
          JSON.stringify(replies),
        )
        assertRefusal({ status, headers, body }, 400, 'invalid_request')
        assertStandardHeaders(headers)
      })
    }

    test('pipelined requests get one reply each, in order', async () => {
      const keepAlive = { ...auth, Connection: 'keep-alive' }
      const replies = await send(
        head('GET /v1/agents?limit=1', keepAlive) +
          head('GET /v1/nowhere', keepAlive) +
          `${head('PATCH /v1/agents/hello', { ...keepAlive, ...json, 'Content-Length': '2' })}{}` +
          head('GET /healthz'),
      )
      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 404, 400, 200],
      )
    })

    test('invalid HTTP is answered last, after all requests before it', async () => {
      const keepAlive = { ...auth, Connection: 'keep-alive' }
      const whole = head('GET /v1/agents?limit=1', keepAlive) + head('GET /healthz', keepAlive)
      for (const unreadable of ['\0\0\0\r\n\r\n', head('CONNECT evil.example:443', keepAlive)]) {
        const replies = await send(whole.repeat(4) + unreadable)
        const statuses = replies.map(({ status }) => status)
        assert.deepEqual(statuses, [...Array(8).fill(200), unreadable.startsWith('CONNECT') ? 405 : 400])
      }
    })

    test('an invalid body is answered in its turn', async () => {
      const keepAlive = { ...auth, Connection: 'keep-alive' }
      const chunked = { ...keepAlive, ...json, 'Transfer-Encoding': 'chunked' }
      const replies = await send(
        head('GET /healthz', keepAlive).repeat(3) + `${head('POST /v1/agents', chunked)}zz\r\n`,
      )
      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 200, 200, 400],
      )
    })

    test('an invalid request is logged', async () => {
      const { status, headers } = await sendOne('not HTTP\r\n\r\n')
      const line = service
        .log()
        .split('\n')
        .find((candidate) => candidate.includes(headers.get('x-request-id') ?? 'nothing'))
      const { msg, level, address } = JSON.parse(line ?? '{}')
      assert.deepEqual([status, level, msg, address], [400, 'info', 'unreadable request', '127.0.0.1'])
    })

    test('a body of a GET is not read as the next request', async () => {
      const inner = 'GET /v1/keys/self HTTP/1.1\r\n\r\n'
      const replies = await send(
        head('GET /v1/agents', { ...auth, Connection: 'keep-alive', 'Content-Length': String(inner.length) }) +
          inner +
          head('GET /healthz'),
      )
      assert.deepEqual(
        replies.map(({ status, body }) => body.status ?? status),
        [200, 'ok'],
      )
    })
  })

  describe('request targets', () => {
    for (const target of ['http://evil.example/v1/agents', 'http://evil.example/healthz', '*', '/v1/agents#x']) {
      test(`400 for ${target}`, async () => {
        const { status, body } = await sendOne(head(`GET ${target}`, auth))
        assert.equal(status, 400)
        assert.equal(body.error.code, 'invalid_request')
      })
    }

    for (const target of ['/v1/agents/%zz', '/v1/agents/%ff', '/v1/agents/%c0%af', '/v1/agents/a%00b']) {
      test(`400 for ${target}`, async () => {
        const { status, body } = await sendOne(head(`GET ${target}`, auth))
        assert.equal(status, 400)
        assert.equal(body.error.code, 'invalid_request')
      })
    }

    const unknown = ['/v1//agents', '//v1/agents', '/v1/Agents', '/v1/agents;x=1', '/v1/agents/hello//', '/v1']
    const climbing = ['/v1/agents/%2e%2e/keys', '/v1/agents/../keys', '/v1/agents/..%2fkeys/nothing', '/v1/./agents']
    for (const target of [...unknown, ...climbing]) {
      test(`404 for ${target}`, async () => {
        const { status, body } = await sendOne(head(`GET ${target}`, auth))
        assert.equal(status, 404)
        assert.equal(body.error.code, 'not_found')
        assert.match(body.error.message, /^There is nothing at this path/)
      })
    }

    for (const target of ['/agents', '/v2/agents', '/V1/agents', '/index.html']) {
      test(`404 for ${target}, naming /v1`, async () => {
        assertRefusal(await sendOne(head(`GET ${target}`, auth)), 404, 'not_found')
      })
    }

    test('404 for an agent whose name has 8000 characters', async () => {
      const { status, body } = await sendOne(head(`GET /v1/agents/${'a'.repeat(8000)}`, auth))
      assert.equal(status, 404)
      assert.equal(body.error.code, 'not_found')
    })
  })

  describe('headers', () => {
    test('431 for headers over 16 KiB', async () => {
      const { status, headers, body } = await sendOne(head('GET /v1/agents', { ...auth, 'X-Long': 'a'.repeat(17_000) }))
      assertRefusal({ status, headers, body }, 431, 'headers_too_large')
      assertStandardHeaders(headers)
    })

    for (const coding of ['gzip, chunked', 'x-custom, chunked', 'identity, chunked']) {
      test(`400 for Transfer-Encoding: ${coding}`, async () => {
        const coded = { ...auth, 'Content-Type': 'application/json', 'Transfer-Encoding': coding }
        const { status, headers, body } = await sendOne(`${head('POST /v1/agents', coded)}2\r\n{}\r\n0\r\n\r\n`)
        assertRefusal({ status, headers, body }, 400, 'invalid_request')
        assertStandardHeaders(headers)
      })
    }

    test('a body can be chunked, however the header is spelled', async () => {
      const chunked = { ...auth, 'Content-Type': 'application/json', 'Transfer-Encoding': 'Chunked' }
      const { status, body } = await sendOne(`${head('POST /v1/agents', chunked)}2\r\n{}\r\n0\r\n\r\n`)
      assert.equal(status, 400)
      assert.equal(body.error.details[0].field, 'name')
    })

    test('431 for 2000 headers', async () => {
      const many = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`X${i}`, '']))
      const { status, body } = await sendOne(head('GET /v1/agents', { ...auth, ...many }))
      assert.equal(status, 431)
      assert.equal(body.error.code, 'headers_too_large')
    })

    test('400 without Host, in the error format', async () => {
      const { status, headers, body } = await sendOne('GET /v1/agents HTTP/1.1\r\nConnection: close\r\n\r\n')
      assert.equal(status, 400)
      assert.equal(body.error.code, 'invalid_request')
      assertStandardHeaders(headers)
    })

    for (const name of ['Host', 'Authorization', 'Content-Type']) {
      test(`400 for a repeated ${name}, because a proxy could have read the other one`, async () => {
        const twice = head('GET /v1/agents', auth).replace('\r\n\r\n', `\r\n${name}: one\r\n${name}: two\r\n\r\n`)
        const { status, body } = await sendOne(twice)
        assert.equal(status, 400)
        assert.equal(body.error.code, 'invalid_request')
      })
    }

    test('a forged Host and X-Forwarded-Host change no reply', async () => {
      const body = '{"name":"forged-host"}'
      const forged = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example' }
      const json = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }
      const created = await sendOne(head('POST /v1/agents', { ...auth, ...forged, ...json }) + body)
      assert.equal(created.status, 201)
      assert.equal(created.headers.get('location'), `/v1/agents/${created.body.data.id}`)
      const document = await sendOne(head('GET /v1/openapi.json', forged))
      assert.ok(!JSON.stringify([created, document]).includes('evil.example'))
    })

    test('another origin gets no CORS headers', async () => {
      const asked = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }
      for (const line of ['GET /v1/agents', 'OPTIONS /v1/agents', 'GET /healthz', 'GET /v1/openapi.json']) {
        const { headers } = await sendOne(head(line, { ...asked, ...auth }))
        assert.deepEqual(
          [...headers.keys()].filter((name) => name.startsWith('access-control')),
          [],
          line,
        )
      }
    })

    test("a client's own request ID is not used", async () => {
      const { headers } = await sendOne(head('GET /v1/agents', { ...auth, 'X-Request-Id': 'req_mine' }))
      assert.match(headers.get('x-request-id') ?? '', /^req_[0-9A-Z]{26}$/)
    })

    test('Upgrade is ignored, and Expect: 100-continue is respected', async () => {
      const upgraded = await sendOne(head('GET /v1/agents', { ...auth, Upgrade: 'h2c', Connection: 'upgrade, close' }))
      assert.equal(upgraded.status, 200)
      const json = { 'Content-Type': 'application/json', 'Content-Length': '2', Expect: '100-continue' }
      const replies = await send(`${head('POST /v1/agents', { ...auth, ...json })}{}`)
      assert.deepEqual(
        replies.map(({ status }) => status),
        [100, 400],
      )
    })
  })

  describe('methods', () => {
    for (const method of ['TRACE', 'PROPFIND', 'PUT', 'OPTIONS', 'QUERY', 'DELETE']) {
      test(`405 for ${method} on a known path, with the allowed methods`, async () => {
        const { status, headers, body } = await sendOne(head(`${method} /v1/agents`, auth))
        assert.equal(headers.get('allow'), 'POST, GET, HEAD')
        assertRefusal({ status, headers, body }, 405, 'method_not_allowed')
      })
    }

    test('405 for HEAD on a path without GET, without a body', async () => {
      const { status, headers, text } = await service.call('HEAD', '/v1/agents/hello/invoke')
      assert.equal(status, 405)
      assert.equal(headers.get('allow'), 'POST')
      assert.equal(text, '')
    })

    test('405 for CONNECT, and no tunnel', async () => {
      const { status, headers, body } = await sendOne(head('CONNECT evil.example:443', auth))
      assert.equal(status, 405)
      assert.equal(headers.get('allow'), 'GET, POST, PUT, PATCH, DELETE')
      assert.equal(body.error.code, 'method_not_allowed')
      assertStandardHeaders(headers)
    })

    test('404, not 405, for another method on an unknown path', async () => {
      const { status } = await sendOne(head('PUT /v1/nowhere', auth))
      assert.equal(status, 404)
    })
  })

  test('after all these requests, the service still works and has logged no error of its own', async () => {
    const { status } = await service.call('GET', '/v1/agents')
    assert.equal(status, 200)
    assert.doesNotMatch(service.log(), /"level":"(error|fatal)".*/)
  })
})
