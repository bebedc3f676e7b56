import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { newKey } from '../../src/security/key-format.ts'
import { head, sendRaw } from '../support/clients/raw.ts'
import { assertRefusal } from '../support/clients/refusal.ts'
import { onOneEngine, type Reply, type Service, startService } from '../support/service/service.ts'
import { createKey, later } from '../support/slices/resources.ts'

const HOUR = 3_600_000

onOneEngine(
  'authentication',
  (service) => {
    test('409 for an invitation, because without an identity provider nobody could sign in with it', async () => {
      const body = { email: 'ada@example.com', role: 'viewer' }
      assertRefusal(await service().call('POST', '/v1/invitations', { body }), 409, 'conflict')
    })

    describe('whatever is wrong with a key, the reply is the same 401', () => {
      const wrong: Record<string, (admin: string) => string> = {
        'no token': () => 'Bearer',
        'an empty token': () => 'Bearer ',
        'two spaces': (admin) => `bearer  ${admin}`,
        'a tab': (admin) => `Bearer\t${admin}`,
        'another scheme': (admin) => `Basic ${Buffer.from(`admin:${admin}`).toString('base64')}`,
        'no scheme': (admin) => admin,
        'two tokens': (admin) => `Bearer ${admin} ${admin}`,
        'two tokens with a comma': (admin) => `Bearer ${admin}, Bearer ${admin}`,
        quotes: (admin) => `Bearer "${admin}"`,
        'its last character cut off': (admin) => `Bearer ${admin.slice(0, -1)}`,
        'one more character': (admin) => `Bearer ${admin}0`,
        'one character flipped': (admin) => `Bearer ${flip(admin)}`,
        'the case of its prefix changed': (admin) => `Bearer MRG_${admin.slice(4)}`,
        'a well-formed key that was never made': () => `Bearer ${newKey(randomBytes)}`,
        'a token of 10 kB': () => `Bearer ${'x'.repeat(10_000)}`,
        'a JWT of nobody': () => 'Bearer eyJhbGciOiJub25lIn0.eyJ1c2VyX2lkIjoiYWRtaW4ifQ.',
        'bytes that are no ASCII': (admin) => `Bearer ${admin.slice(0, -1)}\u00e9`,
        SQL: () => "Bearer mrg_'or'1'='1",
      }
      for (const [name, authorization] of Object.entries(wrong)) {
        test(name, async () => {
          const headers = { Authorization: authorization(service().admin) }
          assertUnauthorized(await service().call('GET', '/v1/agents', { key: null, headers }))
        })
      }

      test('no Authorization header', async () => {
        assertUnauthorized(await service().call('GET', '/v1/agents', { key: null }))
      })

      test('a revoked key, from the next request on', async () => {
        const { id, secret } = await createKey(service(), { role: 'viewer' })
        assert.equal((await service().call('GET', '/v1/agents', { key: secret })).status, 200)
        assert.equal((await service().call('DELETE', `/v1/keys/${id}`)).status, 200)
        assertUnauthorized(await service().call('GET', '/v1/agents', { key: secret }))
      })

      test('an expired key, from its last millisecond on', async () => {
        const expires_at = new Date(Date.now() + HOUR).toISOString()
        const { secret } = await createKey(service(), { role: 'viewer', expires_at })
        assert.equal((await service().call('GET', '/v1/agents', { key: secret })).status, 200)
        assertUnauthorized(await later(service(), HOUR, () => service().call('GET', '/v1/agents', { key: secret })))
      })

      test('an old secret after its grace period', async () => {
        const { id, secret } = await createKey(service(), { role: 'viewer' })
        const body = { grace_period_seconds: 3600 }
        assert.equal((await service().call('POST', `/v1/keys/${id}/rotate`, { body })).status, 200)
        assert.equal((await service().call('GET', '/v1/agents', { key: secret })).status, 200)
        assertUnauthorized(await later(service(), HOUR, () => service().call('GET', '/v1/agents', { key: secret })))
      })

      test('on a path that does not exist, and with a method that is not served', async () => {
        for (const [method, path] of [
          ['GET', '/v1/nowhere'],
          ['GET', '/nowhere'],
          ['PUT', '/v1/agents'],
        ] as const) {
          assertUnauthorized(await service().call(method, path, { key: null }))
        }
      })
    })

    test("the scheme's case does not matter", async () => {
      for (const scheme of ['bearer', 'BEARER', 'Bearer']) {
        const headers = { Authorization: `${scheme} ${service().admin}` }
        assert.equal((await service().call('GET', '/v1/agents', { key: null, headers })).status, 200)
      }
    })

    test('refusing a key that never existed takes about as long as refusing a mistyped one', async () => {
      const times = { mistyped: [] as number[], unknown: [] as number[] }
      for (let round = 0; round < 25; round++) {
        for (const kind of ['mistyped', 'unknown'] as const) {
          const key = newKey(randomBytes)
          const started = performance.now()
          await service().call('GET', '/v1/agents', { key: kind === 'mistyped' ? flip(key) : key })
          times[kind].push(performance.now() - started)
        }
      }
      // Compares the fastest times, which a busy machine does not affect: a look-up that scans would be visible.
      const difference = Math.abs(Math.min(...times.unknown) - Math.min(...times.mistyped))
      assert.ok(difference < 50, `${difference} ms`)
    })

    describe('a key in the URL', () => {
      for (const name of ['api_key', 'access_token', 'apikey', 'key', 'token', 'API_KEY', 'secret']) {
        test(`400 for ?${name}=, and the value is not logged`, async () => {
          const value = newKey(randomBytes)
          const { status, body, text } = await service().call('GET', `/v1/agents?limit=1&${name}=${value}`)
          assert.equal(status, 400)
          assert.equal(body.error.code, 'invalid_request')
          assert.ok(!text.includes(value))
          assert.ok(!service().log().includes(value))
        })
      }
    })

    for (const [name, token] of [
      ['NUL', 'a\0b'],
      ['CR', 'a\rb'],
      ['LF', 'a\nb'],
    ] as const) {
      test(`400 for a token with ${name}: it is not HTTP`, async () => {
        const [reply] = await sendRaw(service().url, head('GET /v1/agents', { Authorization: `Bearer ${token}` }))
        assert.equal(reply?.status, 400)
      })
    }

    test('only health, readiness and the document are open without a key', async () => {
      for (const path of ['/healthz', '/readyz', '/v1/openapi.json']) {
        assert.equal((await service().call('GET', path, { key: null })).status, 200, path)
      }
      for (const path of ['/metrics', '/v1', '/v1/', '/v1/openapi.yaml', '/healthz/x', '/v1/keys/self']) {
        assert.equal((await service().call('GET', path, { key: null })).status, 401, path)
      }
    })
  },
  { MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '100000' },
)

describe('1000 wrong keys', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite', { MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1' })
  })
  after(() => service.stop())

  const tryFrom = (address: string, key: string) =>
    service.call('GET', '/v1/agents', { key, headers: { 'X-Forwarded-For': address } })

  test('from one address, 30 get 401 and the rest 429; other addresses are not affected', async () => {
    const started = Date.now()
    const replies: Reply[] = []
    for (let round = 0; round < 20; round++) {
      const tries = Array.from({ length: 50 }, () => tryFrom('192.0.2.1', newKey(randomBytes)))
      replies.push(...(await Promise.all(tries)))
    }
    const judged = replies.filter(({ status }) => status === 401).length
    const refilled = Math.ceil((Date.now() - started) / 2000)
    assert.ok(judged >= 30 && judged <= 30 + refilled, `${judged} of 1000 were judged`)
    const refused = replies.find(({ status }) => status === 429) as Reply
    const { retry_after } = refused.body.error
    assertRefusal(refused, 429, 'rate_limited', { retry_after })
    assert.ok(retry_after >= 1 && retry_after <= 2, String(retry_after))
    assert.equal(refused.headers.get('retry-after'), String(retry_after))

    assert.equal((await tryFrom('192.0.2.2', service.admin)).status, 200)
    assert.equal((await tryFrom('192.0.2.2', newKey(randomBytes))).status, 401)
    assert.equal((await tryFrom('192.0.2.1', service.admin)).status, 200, 'a good key is still good')
  })

  test('addresses of one IPv6 network share a count, and another network has its own', async () => {
    const tries = Array.from({ length: 60 }, (_, i) => tryFrom(`2001:db8:1:1::${i.toString(16)}`, newKey(randomBytes)))
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    assert.ok(statuses.includes(429))
    assert.equal((await tryFrom('2001:db8:1:2::1', newKey(randomBytes))).status, 401)
  })
})

function assertUnauthorized({ status, headers, body }: Reply): void {
  assertRefusal({ status, headers, body }, 401, 'unauthorized')
  assert.equal(headers.get('www-authenticate'), 'Bearer realm="moorage"')
  assert.equal(headers.get('x-ratelimit-limit'), null)
}

/** The same key with one character in its middle changed. */
function flip(key: string): string {
  const other = key[20] === 'a' ? 'b' : 'a'
  return `${key.slice(0, 20)}${other}${key.slice(21)}`
}
