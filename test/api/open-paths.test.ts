import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { touch } from '../../src/storage/stored-settings.ts'
import { assertStandardHeaders } from '../support/clients/raw.ts'
import { inTransaction } from '../support/inside.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service, startService } from '../support/service/service.ts'

const OPEN = ['/healthz', '/health', '/readyz', '/docs', '/docs/reference.css', '/v1/openapi.json', '/llms.txt', '/']

// None of this uses the database, so one engine is enough.
describe('paths that need no key', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite', { MOORAGE_CONSOLE__ENABLED: 'false' })
  })
  after(() => service.stop())

  const ask = (method: string, path: string) => fetch(service.url + path, { method, redirect: 'manual' })

  test('GET /health leads to /healthz, behind a prefix too', async () => {
    for (const [path, location] of [
      ['/health', 'healthz'],
      ['/health/', '../healthz'],
      ['/health/?probe=/', '../healthz'],
    ] as const) {
      const { status, headers } = await ask('GET', path)
      assert.deepEqual([status, headers.get('location')], [308, location])
      assert.deepEqual(await (await fetch(service.url + path)).json(), { status: 'ok' })
    }
  })

  test('GET / leads to the API reference where there is no console', async () => {
    const reply = await ask('GET', '/')
    assert.equal(reply.status, 302)
    assert.equal(reply.headers.get('location'), '/docs')
    assert.equal(await reply.text(), 'The API reference is at /docs\n')
    assertStandardHeaders(reply.headers, 'text/plain')
    const followed = await fetch(service.url)
    assert.equal(followed.url, `${service.url}/docs`)
    assert.match(await followed.text(), /<html/)
  })

  for (const path of OPEN) {
    test(`HEAD ${path} says what GET says, without the body`, async () => {
      const [get, head] = [await ask('GET', path), await ask('HEAD', path)]
      assert.equal(head.status, get.status)
      // For HEAD, fetch requests another kind of connection.
      const ofItsOwn = new Set(['connection', 'keep-alive', 'date', 'x-request-id'])
      const told = ({ headers }: Response) => [...headers].filter(([name]) => !ofItsOwn.has(name))
      assert.deepEqual(told(head), told(get))
      assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(await get.text())))
      assert.equal(await head.text(), '')
    })

    test(`POST ${path} is 405 and names GET and HEAD`, async () => {
      const { status, headers, body } = await service.call('POST', path, { body: {} })
      assert.equal(status, 405)
      assert.equal(headers.get('allow'), 'GET, HEAD')
      assert.equal(body.error.code, 'method_not_allowed')
    })
  }
})

onAnyEngine('GET /readyz', (service) => {
  test('503 with the reason, soon, while the store does not take writes; 200 when it does again', async () => {
    const held = Promise.withResolvers<void>()
    const holds = Promise.withResolvers<void>()
    const stalled = inTransaction(service(), async (db) => {
      await touch(db, 'ready', 'held')
      holds.resolve()
      await held.promise
    })
    await holds.promise
    try {
      const ask = () => fetch(`${service().url}/readyz`, { signal: AbortSignal.timeout(15_000 * PATIENCE) })
      for (const reply of await Promise.all([ask(), ask(), ask()])) {
        const said = [reply.status, await reply.json()]
        assert.deepEqual(said, [503, { status: 'not_ready', reason: "the database isn't responding" }])
      }
      assert.equal((await service().call('GET', '/healthz')).status, 200)
    } finally {
      held.resolve()
      await stalled
    }
    await until('it is ready again', async () => (await service().call('GET', '/readyz')).status === 200)
  })
})
