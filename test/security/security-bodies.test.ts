import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { assertStandardHeaders, head, sendRaw } from '../support/clients/raw.ts'
import { assertRefusal } from '../support/clients/refusal.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { type Reply, type Service, startService } from '../support/service/service.ts'

// How bodies arrive. Nothing here depends on the store, so one engine stands for both.
describe('bodies on the wire', () => {
  let service: Service
  let auth: { Authorization: string }
  before(async () => {
    service = await startService('sqlite')
    auth = { Authorization: `Bearer ${service.admin}` }
  })
  after(() => service.stop())

  const sendOne = async (bytes: string | Buffer, url = service.url) => {
    const replies = await sendRaw(url, bytes)
    assert.equal(replies.length, 1, JSON.stringify(replies.map(({ text }) => text)))
    return replies[0] as Reply
  }
  const json = { 'Content-Type': 'application/json' }
  const post = (headers: Record<string, string>, body = '') =>
    sendOne(head('POST /v1/agents', { ...auth, ...headers }) + body)

  test('413 for a Content-Length of 1 MiB + 1, before a byte of it arrives', async () => {
    const { status, headers, body } = await post({
      ...json,
      'Content-Length': String(1_048_577),
      Connection: 'keep-alive',
    })
    assert.equal(headers.get('connection'), 'close')
    assertRefusal({ status, headers, body }, 413, 'payload_too_large')
  })

  test('413 for chunks without end, and the connection closes', async () => {
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    const { status } = await post(
      { ...json, 'Transfer-Encoding': 'chunked', Connection: 'keep-alive' },
      chunk.repeat(40),
    )
    assert.equal(status, 413)
  })

  describe('a client that reads no answer before it has sent everything gets the answer', () => {
    const LENGTH = { 'Content-Length': '20000000' }
    for (const [told, headers] of [
      ['413 Payload Too Large', () => ({ ...auth, ...json })],
      ['401 Unauthorized', () => json],
      ['415 Unsupported Media Type', () => ({ ...auth, 'Content-Type': 'text/plain' })],
    ] as const) {
      // The service accepts data for two seconds: if it is suspended meanwhile, it is right to disconnect.
      test(told, () =>
        inOneAttempt(async () => {
          const { hostname, port } = new URL(service.url)
          const socket = connect(Number(port), hostname)
          socket.pause().on('error', () => {})
          socket.write(head('POST /v1/agents', { ...headers(), ...LENGTH }))
          const failure = await new Promise((resolve) => socket.write(Buffer.alloc(20_000_000, ' '), resolve))
          assert.ok(!failure, String(failure))
          assert.match(await textOf(socket), new RegExp(`^HTTP/1\\.1 ${told}\\r\\n`))
        }),
      )
    }
  })

  test('1 MiB to the byte is read', async () => {
    const body = JSON.stringify({ name: 'large', metadata: {} }).padEnd(1_048_576, ' ')
    const { status } = await post({ ...json, 'Content-Length': String(body.length) }, body)
    assert.equal(status, 201)
  })

  test('a body with a chunk for each byte is read whole, also with larger ones among them', async () => {
    const told = { description: 'tiny '.repeat(90).trim(), metadata: { a: 'b'.repeat(5_000), c: 'd'.repeat(3_000) } }
    const body = JSON.stringify({ name: 'in-bytes', ...told }).padEnd(200_000, ' ')
    const bytesOf = (text: string) => [...text].map((byte) => `1\r\n${byte}\r\n`).join('')
    const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
    const chunks = bytesOf(body.slice(0, 4_000)) + chunkOf(body.slice(4_000, 6_000)) + bytesOf(body.slice(6_000))
    const { status, body: created } = await post({ ...json, 'Transfer-Encoding': 'chunked' }, `${chunks}0\r\n\r\n`)
    assert.equal(status, 201)
    const { description, metadata } = created.data
    assert.deepEqual({ description, metadata }, told)
  })

  test('408 for a body or headers that do not arrive in time, and the connection closes', async () => {
    const hasty = await startService('sqlite', { MOORAGE_SERVER__REQUEST_TIMEOUT: '1s' })
    const ofHasty = { Authorization: `Bearer ${hasty.admin}` }
    const slowBody = { ...ofHasty, ...json, 'Content-Length': '100', Connection: 'keep-alive' }
    const replies = await Promise.all([
      sendOne(`${head('POST /v1/agents', slowBody)}{"name"`, hasty.url),
      sendOne('GET /v1/agents HTTP/1.1\r\nHost: localhost\r\nX-Slow', hasty.url),
    ])
    assert.doesNotMatch(hasty.log(), /"level":"(error|fatal)".*/)
    await hasty.stop()
    for (const { status, headers, body } of replies) {
      assertRefusal({ status, headers, body }, 408, 'request_timeout')
      assertStandardHeaders(headers)
    }
  })

  test('a client that hangs up within a body leaves nothing behind', async () => {
    const headers = { ...auth, ...json, 'Content-Length': '100' }
    await sendRaw(service.url, `${head('POST /v1/agents', headers)}{"name":"cut-off"`, { hangUp: true })
    assert.equal((await service.call('GET', '/v1/agents/cut-off')).status, 404)
  })

  for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip']) {
    test(`415 for Content-Encoding: ${encoding}: nothing is inflated`, async () => {
      const { status, body } = await post({ ...json, 'Content-Encoding': encoding, 'Content-Length': '2' }, '{}')
      assert.equal(status, 415)
      assert.equal(body.error.code, 'unsupported_media_type')
    })
  }

  const otherTypes = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ';;;']
  for (const type of [...otherTypes, 'application/json; charset=latin1', 'application/jsonp']) {
    test(`415 for ${type}`, async () => {
      const { status, body } = await post({ 'Content-Type': type, 'Content-Length': '16' }, '{"name":"typed"}')
      assert.equal(status, 415)
      assert.equal(body.error.code, 'unsupported_media_type')
    })
  }

  test('415 for a body without a Content-Type', async () => {
    const { status } = await post({ 'Content-Length': '16' }, '{"name":"typed"}')
    assert.equal(status, 415)
  })

  for (const [index, type] of ['application/json; charset=utf-8', 'APPLICATION/JSON;charset="UTF-8"'].entries()) {
    test(`201 for ${type}`, async () => {
      const body = `{"name":"typed-${index}"}`
      const { status } = await post({ 'Content-Type': type, 'Content-Length': String(body.length) }, body)
      assert.equal(status, 201)
    })
  }

  test('DELETE takes a JSON content type without a body, and no field', async () => {
    const empty = await sendOne(head('DELETE /v1/agents/nobody', { ...auth, ...json }))
    assert.equal(empty.status, 404)
    const full = await sendOne(`${head('DELETE /v1/agents/hello', { ...auth, ...json, 'Content-Length': '7' })}{"a":1}`)
    assert.equal(full.status, 400)
    assert.equal(full.body.error.code, 'invalid_request')
  })

  test('nothing of it was treated as an error of the service', () => {
    assert.doesNotMatch(service.log(), /"level":"(error|fatal)".*/)
  })
})
