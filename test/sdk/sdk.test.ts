import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { type Client, createClient, MoorageError } from '../../sdk/client.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { type Service, startService } from '../support/service/service.ts'

describe('the SDK and a service', () => {
  let service: Service
  let client: Client
  before(async () => {
    service = await startService('sqlite')
    client = createClient({ url: service.url, key: service.admin })
  })
  after(() => service.stop())

  test('an agent from create to delete', async () => {
    const created = await client.agents.create({ name: 'first', temperature: 0.5 })
    assert.equal((await client.agents.get('first')).id, created.id)
    assert.equal((await client.agents.update('first', { temperature: 1 })).temperature, 1)
    assert.deepEqual(await client.agents.delete(created.id), { id: created.id, deleted: true })
    await assert.rejects(client.agents.get('first'), { name: 'MoorageError', code: 'not_found', status: 404 })
  })

  test('an error contains the reason, the field and the request ID', async () => {
    const error = await client.agents.create({ name: 'Not A Name' }).catch((caught: unknown) => caught)
    assert.ok(error instanceof MoorageError)
    assert.deepEqual([error.code, error.status], ['invalid_request', 400])
    assert.match(error.request_id ?? '', /^req_/)
    assert.deepEqual(
      error.details.map(({ field }) => field),
      ['name'],
    )
  })

  test('a name is always one path segment, and never empty', async () => {
    await assert.rejects(client.agents.get('../keys'), { code: 'not_found' })
    await assert.rejects(client.agents.get(''), TypeError)
    await client.agents.create({ name: 'kept' })
    for (const word of ['.', '..']) {
      await assert.rejects(client.memory.delete('kept', word), TypeError)
      await assert.rejects(client.schedules.update('kept', word, { name: 'lost' }), TypeError)
    }
    assert.equal((await client.agents.get('kept')).name, 'kept')
    await client.agents.delete('kept')
  })

  describe('lists', () => {
    const names = Array.from({ length: 23 }, (_, i) => `agent-${String(i).padStart(2, '0')}`)
    before(() => Promise.all(names.map((name) => client.agents.create({ name }))))

    test('await returns one page', async () => {
      const page = await client.agents.list({ limit: 5, sort: 'name' })
      assert.deepEqual(
        page.data.map(({ name }) => name),
        names.slice(0, 5),
      )
      assert.deepEqual(page.pagination, { limit: 5, offset: 0, total: 24, has_more: true })
    })

    test('iteration returns every item of every page once', async () => {
      for (const limit of [undefined, 1, 7, 24, 100]) {
        const seen: string[] = []
        for await (const { name } of client.agents.list({ limit, sort: 'name' })) seen.push(name)
        assert.deepEqual(seen, [...names, 'hello'], `limit ${limit}`)
      }
    })

    test('iteration from an offset skips the items before it', async () => {
      for (const limit of [1, 7, 24]) {
        const seen: string[] = []
        for await (const { name } of client.agents.list({ limit, offset: 5, sort: 'name' })) seen.push(name)
        assert.deepEqual(seen, [...names.slice(5), 'hello'], `limit ${limit}`)
      }
    })

    test('iteration returns nothing twice, even if items are created meanwhile', async () => {
      const seen: string[] = []
      for await (const { name } of client.agents.list({ limit: 10 })) {
        if (seen.length === 5) await client.agents.create({ name: 'latecomer' })
        seen.push(name)
      }
      assert.equal(new Set(seen).size, seen.length)
      assert.equal(seen.length, 24)
      await client.agents.delete('latecomer')
    })
  })

  test('two calls with the same idempotencyKey run once', async () => {
    const first = await client.agents.create({ name: 'once' }, { idempotencyKey: 'k1' })
    const again = await client.agents.create({ name: 'once' }, { idempotencyKey: 'k1' })
    assert.deepEqual(again, first)
    await assert.rejects(client.agents.create({ name: 'once' }), { code: 'conflict' })
  })
})

describe('the SDK and pages that move while they are read', () => {
  /** A list, newest first, to which something is added before every page but the first. */
  async function readMoving(limit: number, length: number) {
    const ids = Array.from({ length }, (_, index) => index)
    let requests = 0
    const server = await startLocalServer((request, response) => {
      if (requests++ > 0 && requests <= length + 1) ids.unshift(-requests)
      if (requests > 10 * length) return response.destroy()
      const query = new URL(request.url ?? '/', 'http://local').searchParams
      const offset = Number(query.get('offset') ?? 0)
      const data = ids.slice(offset, offset + limit).map((id) => ({ id }))
      const pagination = { limit, offset, total: ids.length, has_more: offset + data.length < ids.length }
      response.end(JSON.stringify({ data, pagination }))
    })
    const seen: unknown[] = []
    for await (const { id } of createClient({ url: server.url, key: 'mrg_x', retries: 0 }).agents.list({ limit })) {
      seen.push(id)
    }
    await server.close()
    return { seen, requests }
  }

  for (const limit of [1, 2, 3]) {
    test(`pages of ${limit}: ends, and yields everything that was there once`, async () => {
      const { seen, requests } = await readMoving(limit, 6)
      assert.deepEqual(seen, [0, 1, 2, 3, 4, 5])
      assert.ok(requests <= 14, String(requests))
    })
  }

  test('nothing is yielded twice, even if more is added at once than a page has', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => index)
    let requests = 0
    const server = await startLocalServer((request, response) => {
      if (++requests === 3) ids.unshift(-5, -4, -3, -2, -1)
      const offset = Number(new URL(request.url ?? '/', 'http://local').searchParams.get('offset') ?? 0)
      const data = ids.slice(offset, offset + 2).map((id) => ({ id }))
      const pagination = { limit: 2, offset, total: ids.length, has_more: offset + 2 < ids.length }
      response.end(JSON.stringify({ data, pagination }))
    })
    const seen: unknown[] = []
    for await (const { id } of createClient({ url: server.url, key: 'mrg_x' }).agents.list({ limit: 2 })) seen.push(id)
    await server.close()
    assert.deepEqual(seen, [0, 1, 2, 3, -1, 4, 5, 6, 7, 8, 9])
  })

  test('a server that sends the same page forever does not block the client', async () => {
    let requests = 0
    const server = await startLocalServer((_request, response) => {
      const pagination = { limit: 1, offset: 0, total: 9, has_more: ++requests < 50 }
      response.end(JSON.stringify({ data: [{ id: 'same' }], pagination }))
    })
    const seen: unknown[] = []
    for await (const { id } of createClient({ url: server.url, key: 'mrg_x' }).agents.list({ limit: 1 })) {
      seen.push(id)
    }
    await server.close()
    assert.deepEqual(seen, ['same'])
    assert.ok(requests < 20, String(requests))
  })
})

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const status =
  (code: number, body = '', headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    response.writeHead(code, headers).end(body)
const hangUp: Answer = (request) => request.socket.destroy()

describe('the SDK and a service with problems', () => {
  let server: LocalServer
  let client: Client
  let answers: Answer[]
  let requests: { method: string; key: string | undefined; time: number }[]
  let stories = 0
  const ownKey = () => `mrg_${stories}`
  before(async () => {
    server = await startLocalServer((request, response) => {
      const { method = '', headers } = request
      // A request that was given up on might still arrive, and must not get the next request's reply.
      if (headers.authorization !== `Bearer ${ownKey()}`) return response.destroy()
      requests.push({ method, key: headers['idempotency-key'] as string | undefined, time: performance.now() })
      const answer = answers.shift()
      if (answer) answer(request, response)
      else response.setHeader('content-type', 'application/json').end('{"success":true,"data":{"id":"agt_1"}}')
    })
  })
  after(() => server.close())
  const given = (...list: Answer[]) => {
    answers = list
    requests = []
    stories += 1
    client = createClient({ url: server.url, key: ownKey() })
  }
  test('503, 502 and a broken connection are retried with the same key', async () => {
    given(status(503), hangUp)
    await client.agents.create({ name: 'x' })
    assert.deepEqual(
      requests.map(({ method }) => method),
      ['POST', 'POST', 'POST'],
    )
    assert.match(requests[0]?.key ?? '', /^[0-9a-f]{32}$/)
    assert.equal(new Set(requests.map(({ key }) => key)).size, 1)
  })

  test('PATCH has an Idempotency-Key, GET and DELETE do not', async () => {
    given()
    await client.agents.update('a', { model: 'm' })
    await client.agents.get('a')
    await client.agents.delete('a')
    assert.deepEqual(
      requests.map(({ method, key }) => [method, key !== undefined]),
      [
        ['PATCH', true],
        ['GET', false],
        ['DELETE', false],
      ],
    )
  })

  test('a DELETE whose reply was lost succeeds if the retry gets 404', async () => {
    const gone = status(404, '{"success":false,"error":{"code":"not_found","message":"Agent not found: a"}}')
    given(hangUp, gone)
    assert.deepEqual(await client.agents.delete('a b'), { id: 'a b', deleted: true })
    given(hangUp, gone)
    assert.deepEqual(await client.secrets.delete('TOKEN'), { name: 'TOKEN', deleted: true })
  })

  test('a DELETE that was not executed is never reported as done', async () => {
    const gone = status(404, '{"success":false,"error":{"code":"not_found","message":"Not found: a"}}')
    const refused = { code: 'not_found', status: 404 }
    given(gone)
    await assert.rejects(client.agents.delete('a'), refused)
    for (const earlier of [status(429, '', { 'retry-after': '0' }), status(502), status(503)]) {
      given(earlier, gone)
      await assert.rejects(client.agents.delete('a'), refused)
    }
    // These operations delete something other than what the path names, or something that always exists.
    for (const remove of [
      () => client.keys.revoke('key_1'),
      () => client.mfa.remove('key_1'),
      () => client.memory.clear('a', {}),
      () => client.memory.delete('a', 'mem_1'),
    ]) {
      given(hangUp, gone)
      await assert.rejects(remove(), refused)
    }
  })

  test('a DELETE that could not connect at first is not reported as done if the retry gets 404', async () => {
    given(status(404, '{"success":false,"error":{"code":"not_found","message":"Agent not found: a"}}'))
    let tries = 0
    const closed = await startLocalServer(() => {})
    await closed.close()
    const late = (url: string, init: RequestInit) =>
      fetch(tries++ === 0 ? url.replace(server.url, closed.url) : url, init)
    const waking = createClient({ url: server.url, key: ownKey(), fetch: late })
    await assert.rejects(waking.agents.delete('a'), { code: 'not_found', status: 404 })
    assert.equal(tries, 2)
  })

  test('Retry-After is respected', async () => {
    given(status(429, '', { 'retry-after': '1' }))
    await client.agents.get('a')
    const [first, second] = requests
    // Timers count whole milliseconds.
    assert.ok((second?.time ?? 0) - (first?.time ?? 0) >= 999)
  })

  test('a very long wait is an error immediately', async () => {
    given(status(429, '{"success":false,"error":{"code":"rate_limited","message":"slow","retry_after":3600}}'))
    await assert.rejects(client.agents.get('a'), { code: 'rate_limited', retry_after: 3600 })
    assert.equal(requests.length, 1)
  })

  test('after the last retry, the error is thrown', async () => {
    given(status(500), status(500))
    await assert.rejects(client.agents.get('a', { retries: 1 }), { code: 'server_error', status: 500 })
    assert.equal(requests.length, 2)
  })

  test('a check of a remote agent is not retried', async () => {
    given(status(503), status(503))
    await assert.rejects(client.agents.checkRemote('a'), { status: 503 })
    assert.equal(requests.length, 1)
  })

  test('a failed agent is not retried by any method; one that could not start is', async () => {
    const failed = JSON.stringify({ success: false, error: { code: 'server_error', message: 'The agent failed.' } })
    const invocations: Record<string, () => Promise<unknown>> = {
      invoke: () => client.agents.invoke('a', { message: 'hi' }),
      start: () => client.agents.start('a', { message: 'hi' }),
      stream: () => client.agents.stream('a', { message: 'hi' }).next(),
    }
    for (const [how, run] of Object.entries(invocations)) {
      given(status(500, failed))
      await assert.rejects(run(), { code: 'server_error', message: 'The agent failed.' })
      assert.equal(requests.length, 1, how)
    }
    given(status(503), status(429))
    await client.agents.invoke('a', { message: 'hi' })
    assert.equal(requests.length, 3)
  })

  test('errors of the caller and timeouts of the agent are not retried', async () => {
    for (const [code, status_] of [
      ['not_found', 404],
      ['conflict', 409],
      ['timeout', 504],
    ] as const) {
      given(status(status_, JSON.stringify({ success: false, error: { code, message: 'no' } })))
      await assert.rejects(client.agents.get('a'), { code })
      assert.equal(requests.length, 1, code)
    }
  })

  test('a redirect is not followed, because it would send the key elsewhere', async () => {
    given(status(302, '', { location: `${server.url}/elsewhere` }))
    await assert.rejects(client.agents.get('a', { retries: 0 }), { code: 'unreachable' })
    assert.equal(requests.length, 1)
  })

  test('a reply from another program is reported as such', async () => {
    for (const body of ['{}', 'null', '[]', '{"data":{"id":"agt_1"}}', '{"success":true}']) {
      given(status(200, body), status(200, body))
      await assert.rejects(client.agents.get('a'), { code: 'invalid_reply', message: /Check the URL/ }, body)
      await assert.rejects(async () => client.agents.list(), { code: 'invalid_reply' }, body)
    }
    given(status(200, '<html>welcome</html>'))
    await assert.rejects(client.agents.get('a'), { code: 'invalid_reply', message: /not answer in JSON/ })
  })

  test('an unreachable service is an error', async () => {
    const nobody = await startLocalServer(() => {})
    await nobody.close()
    const lonely = createClient({ url: nobody.url, key: 'k', retries: 0 })
    await assert.rejects(lonely.agents.get('a'), { code: 'unreachable', status: 0, message: /ECONNREFUSED/ })
  })

  test('a missing reply is an error after the timeout', async () => {
    given(() => {})
    await assert.rejects(client.agents.get('a', { timeoutMs: 20, retries: 0 }), {
      code: 'unreachable',
      message: /no reply within 0.02 s/,
    })
    given(() => {})
    await assert.rejects(client.files.create(new Blob(['slow']), {}, { timeoutMs: 20, retries: 0 }), {
      code: 'unreachable',
      message: /no reply within 0.02 s/,
    })
  })

  test('a reply that starts in time but does not end in time is retried, then reported', async () => {
    const stall: Answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"success":true,"da')
    }
    await inOneAttempt(async () => {
      given(stall)
      assert.equal((await client.agents.get('a', { timeoutMs: 300 })).id, 'agt_1')
      assert.equal(requests.length, 2)
    })
    await inOneAttempt(async () => {
      given(stall)
      await assert.rejects(client.agents.get('a', { timeoutMs: 100, retries: 0 }), {
        code: 'unreachable',
        message: /no complete reply within 0.1 s/,
      })
    })
    given((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.write('{"success":fal')
    })
    await assert.rejects(client.agents.get('a', { timeoutMs: 100, retries: 0 }), { code: 'unreachable' })
  })

  test('retries are reported with their wait and reason', async () => {
    const told: [string, number][] = []
    given(status(429, '', { 'retry-after': '1' }), hangUp)
    const telling = createClient({
      url: server.url,
      key: ownKey(),
      onRetry: ({ code }, waitMs) => told.push([code, waitMs]),
    })
    await telling.agents.get('a')
    assert.deepEqual(
      told.map(([code]) => code),
      ['rate_limited', 'unreachable'],
    )
    assert.equal(told[0]?.[1], 1000)
  })

  test('a path cannot become part of the host', async () => {
    given()
    await assert.rejects(client.request({ method: 'GET', path: '.example.com/' }), TypeError)
    assert.equal(requests.length, 0)
  })

  test('an abort ends a request and a wait', async () => {
    const asking = new AbortController()
    given(() => asking.abort())
    await assert.rejects(client.agents.get('a', { signal: asking.signal }), { name: 'AbortError' })

    const waiting = new AbortController()
    given(status(503, '', { 'retry-after': '30' }))
    // The wait starts after the callback.
    const onRetry = () => setImmediate(() => waiting.abort())
    const patient = createClient({ url: server.url, key: ownKey(), onRetry })
    await assert.rejects(patient.agents.get('a', { signal: waiting.signal }), { name: 'AbortError' })

    const reading = new AbortController()
    given((_request, response) => void response.writeHead(200).write('{"n":1}\n{"n":2}\n'))
    const read = async () => {
      for await (const line of client.users.export('ada', { signal: reading.signal })) if (line) reading.abort()
    }
    await assert.rejects(read(), { name: 'AbortError' })
  })
})
