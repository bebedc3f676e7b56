import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type CallOptions, type Service, type Settings, startService } from '../support/service/service.ts'

const FORBIDDEN = [403, 'forbidden']
const PLAIN = [403, 'https_required']

/** A service with these settings for the tests of a group; `get` is the status, and the error if it is one. */
function serviceWith(settings: Settings) {
  let service: Service
  before(async () => {
    service = await startService('sqlite', settings)
  })
  after(() => service.stop())
  const get = async (headers: Record<string, string> = {}, path = '/v1/agents', options: CallOptions = {}) => {
    const { status, body } = await service.call('GET', path, { headers, ...options })
    return status < 400 ? status : [status, body.error.code]
  }
  return { service: () => service, get }
}

const from = (addresses: string) => ({ 'X-Forwarded-For': addresses })

describe('security.ipWhitelist of the service, with direct clients', () => {
  const { get } = serviceWith({
    MOORAGE_SECURITY__IP_WHITELIST__ENABLED: 'true',
    MOORAGE_SECURITY__IP_WHITELIST__ADDRESSES: '10.1.2.3,192.0.2.0/24',
  })

  test('403 for an address that is not listed, whatever X-Forwarded-For contains', async () => {
    for (const headers of [{}, from('10.1.2.3'), from('127.0.0.1, 10.1.2.3'), from('::ffff:10.1.2.3'), from('x')]) {
      assert.deepEqual(await get(headers), FORBIDDEN, JSON.stringify(headers))
    }
  })

  test('is checked before the key, so unlisted clients learn nothing about keys', async () => {
    assert.deepEqual(await get({}, '/v1/agents', { key: null }), FORBIDDEN)
    assert.deepEqual(await get({}, '/v1/agents', { key: 'wrong' }), FORBIDDEN)
  })

  test('applies to the OpenAPI document, too, but not to the probes', async () => {
    assert.deepEqual(await get({}, '/v1/openapi.json', { key: null }), FORBIDDEN)
    assert.equal(await get({}, '/healthz', { key: null }), 200)
    assert.equal(await get({}, '/readyz', { key: null }), 200)
  })
})

describe('security.ipWhitelist of the service, with clients behind trusted proxies', () => {
  const { get } = serviceWith({
    MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1,10.9.0.0/16',
    MOORAGE_SECURITY__IP_WHITELIST__ENABLED: 'true',
    MOORAGE_SECURITY__IP_WHITELIST__ADDRESSES: '192.0.2.7,2001:db8::/32',
  })

  test("the client's address behind the proxies is used", async () => {
    assert.equal(await get(from('192.0.2.7')), 200)
    assert.equal(await get(from('192.0.2.7, 10.9.0.1, 10.9.0.2')), 200)
    assert.equal(await get(from('::ffff:192.0.2.7')), 200)
    assert.equal(await get(from('2001:db8::1')), 200)
    assert.deepEqual(await get(from('192.0.2.8')), FORBIDDEN)
  })

  test('addresses before the first untrusted hop are the client’s own claim, and ignored', async () => {
    assert.deepEqual(await get(from('192.0.2.7, 203.0.113.9')), FORBIDDEN)
    assert.deepEqual(await get(from('192.0.2.7, 203.0.113.9, 10.9.0.1')), FORBIDDEN)
  })

  test('403 for a request from the proxy itself, and for invalid addresses', async () => {
    assert.deepEqual(await get(), FORBIDDEN)
    for (const text of ['unknown', '192.0.2.7:443', '_hidden', '192.0.2.07', ',', ' ']) {
      assert.deepEqual(await get(from(text)), FORBIDDEN, JSON.stringify(text))
    }
  })
})

describe('security.ipWhitelist with an empty list', () => {
  const { get } = serviceWith({ MOORAGE_SECURITY__IP_WHITELIST__ENABLED: 'true' })

  test('refuses all clients', async () => {
    assert.deepEqual(await get(), FORBIDDEN)
  })
})

describe('security.enforceHttps behind a trusted proxy', () => {
  const { service, get } = serviceWith({
    MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1',
    MOORAGE_SECURITY__ENFORCE_HTTPS: 'true',
    MOORAGE_SECURITY__HSTS__ENABLED: 'true',
  })
  const proto = (value: string) => ({ 'X-Forwarded-Proto': value })

  test('200 when the proxy says https', async () => {
    assert.equal(await get(proto('https')), 200)
    assert.equal(await get(proto('HTTPS, https')), 200)
  })

  test('403 for a plain request with a valid key, without a redirect', async () => {
    assert.deepEqual(await get(), PLAIN)
    const { status, headers } = await service().call('GET', '/v1/agents')
    assert.equal(status, 403)
    assert.equal(headers.get('location'), null)
  })

  test('403 when any hop was plain, or the proxy says something else', async () => {
    for (const value of ['http', 'https, http', 'http, https', 'wss', ''])
      assert.deepEqual(await get(proto(value)), PLAIN)
  })

  test('HSTS on replies that go out over TLS, and on no other', async () => {
    const header = async (headers: Record<string, string>, path = '/v1/agents') =>
      (await service().call('GET', path, { headers })).headers.get('strict-transport-security')
    assert.equal(await header(proto('https')), 'max-age=31536000')
    assert.equal(await header(proto('https'), '/healthz'), 'max-age=31536000')
    assert.equal(await header({}), null)
    assert.equal(await header({}, '/healthz'), null)
  })

  test('the probes stay open', async () => {
    assert.equal(await get({}, '/healthz', { key: null }), 200)
    assert.equal(await get({}, '/readyz', { key: null }), 200)
  })
})

describe('security.enforceHttps if the peer is not a trusted proxy', () => {
  const { get } = serviceWith({
    MOORAGE_SERVER__TRUSTED_PROXIES: '10.0.0.1',
    MOORAGE_SECURITY__ENFORCE_HTTPS: 'true',
  })

  test("403 whatever the request's headers say", async () => {
    assert.deepEqual(await get({ 'X-Forwarded-Proto': 'https' }), PLAIN)
    assert.deepEqual(await get({ 'X-Forwarded-Proto': 'https', ...from('10.0.0.1') }), PLAIN)
  })
})

describe('security.rateLimit of the service', () => {
  const { service } = serviceWith({
    MOORAGE_SECURITY__RATE_LIMIT__ENABLED: 'true',
    MOORAGE_SECURITY__RATE_LIMIT__REQUESTS: '3',
    MOORAGE_SECURITY__RATE_LIMIT__WINDOW: '1h',
  })

  test('counts all callers together, in addition to their tiers, but not unknown keys', async () => {
    const created = await service().call('POST', '/v1/keys', { body: { name: 'other', role: 'viewer', tier: 'pro' } })
    for (let i = 0; i < 5; i++) assert.equal((await service().call('GET', '/v1/agents', { key: 'wrong' })).status, 401)
    const ask = (key: string) => service().call('GET', '/v1/agents', { key })
    assert.equal((await ask(service().admin)).status, 200)
    const last = await ask(created.body.data.secret)
    assert.equal(last.status, 200)
    assert.equal(last.headers.get('x-ratelimit-limit'), '3')
    assert.equal(last.headers.get('x-ratelimit-remaining'), '0')

    for (const key of [service().admin, created.body.data.secret]) {
      const { status, headers, body } = await ask(key)
      assert.equal(status, 429)
      assert.equal(body.error.code, 'rate_limited')
      assert.match(body.error.message, /\b3 requests\b.*security\.rateLimit/)
      assert.equal(headers.get('retry-after'), String(body.error.retry_after))
      assert.ok(body.error.retry_after > 1190 && body.error.retry_after <= 1200, String(body.error.retry_after))
    }
    service().advance(1_200_000)
    assert.equal((await ask(service().admin)).status, 200)
  })
})
