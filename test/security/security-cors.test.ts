import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openaiClient } from '../support/clients/openai.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { onOneEngine, type Reply } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const APP = 'https://app.example.com'
const LOCAL = 'http://localhost:3000'
const WIDGET = 'https://widget.example.com'
const PREFLIGHT = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'authorization' }

/** What a browser would be told: the origin it may show the reply to, if any. */
const grantOf = ({ headers }: Reply) => headers.get('access-control-allow-origin')

onOneEngine(
  'CORS',
  (service) => {
    const preflight = (path: string, Origin: string, headers: Record<string, string> = {}) =>
      service().call('OPTIONS', path, { key: null, headers: { Origin, ...PREFLIGHT, ...headers } })
    const get = (path: string, Origin: string, key: string | null = service().admin) =>
      service().call('GET', path, { key, headers: { Origin } })

    describe('CORS of the service', () => {
      test('answers a preflight of an allowed origin without a key', async () => {
        for (const origin of [APP, LOCAL]) {
          const reply = await preflight('/v1/agents/hello/invoke', origin)
          assert.equal(reply.status, 200, reply.text)
          const { headers } = reply
          assert.equal(grantOf(reply), origin)
          assert.equal(headers.get('access-control-allow-methods'), 'GET, POST, PUT, PATCH, DELETE')
          assert.equal(
            headers.get('access-control-allow-headers')?.replaceAll(/, X-Stainless-[\w-]+/g, ''),
            'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Moorage-Project, Prefer, User-Agent, X-Service-OTP, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, A2A-Version, A2A-Extensions',
          )
          assert.equal(headers.get('access-control-max-age'), '120')
          assert.equal(headers.get('access-control-allow-credentials'), null)
          assert.match(headers.get('vary') ?? '', /Origin/)
          assert.deepEqual(reply.body, { success: true, data: {} })
        }
      })

      test("allows the headers that OpenAI's client sends, including its name", async () => {
        await createAgent(service(), 'clerk')
        const sent = new Set<string>()
        const client = openaiClient(service(), {
          fetch: (url, init) => {
            for (const name of new Headers(init?.headers).keys()) sent.add(name)
            return fetch(url, init)
          },
        })
        const asked = { model: 'clerk', messages: [{ role: 'user' as const, content: 'Ahoy' }] }
        assert.equal(await client.chat.completions.stream(asked).finalContent(), 'Ahoy')
        const { headers } = await preflight('/v1/chat/completions', APP)
        const taken = new Set(headers.get('access-control-allow-headers')?.toLowerCase().split(', '))
        // Browsers send this one to any origin without a preflight.
        taken.add('accept')
        assert.deepEqual([...sent.difference(taken)], [])
        assert.ok(sent.has('x-stainless-lang') && sent.has('user-agent'), [...sent].join())
      })

      test('refuses every other origin, however similar, and requests that are not preflights', async () => {
        for (const origin of [
          'https://evil.example.com',
          'http://app.example.com',
          'https://app.example.com:8443',
          'https://app.example.com.evil.example',
          'https://evil-app.example.com',
          'https://APP.example.com',
          'https://app.example.com/',
          'null',
          '*',
        ]) {
          const reply = await preflight('/v1/agents', origin)
          assert.deepEqual([reply.status, grantOf(reply)], [401, null], origin)
        }
        const plain = await service().call('OPTIONS', '/v1/agents', { key: null, headers: { Origin: APP } })
        assert.equal(plain.status, 401)
        const withKey = await service().call('OPTIONS', '/v1/agents', { headers: { Origin: APP } })
        assert.deepEqual([withKey.status, withKey.headers.get('allow')], [405, 'POST, GET, HEAD'])
      })

      test('lets the page read every reply and its headers, including errors', async () => {
        const replies = [
          await get('/v1/agents', APP),
          await get('/v1/agents', APP, null),
          await get('/v1/agents?limit=0', APP),
          await get('/v1/nothing', APP),
          await get('/v1/openapi.json', APP, null),
          await service().call('POST', '/v1/agents/hello/invoke', {
            body: { message: 'hi' },
            headers: { Origin: APP, Accept: 'text/event-stream' },
          }),
        ]
        assert.deepEqual(
          replies.map(({ status }) => status),
          [200, 401, 400, 404, 200, 200],
        )
        for (const reply of replies) {
          assert.equal(grantOf(reply), APP)
          assert.equal(reply.headers.get('vary'), 'Origin')
          assert.equal(reply.headers.get('access-control-allow-credentials'), null)
          assert.equal(
            reply.headers.get('access-control-expose-headers'),
            'X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Idempotent-Replayed, Retry-After, Location, ETag, Preference-Applied, X-Should-Retry, Deprecation, Sunset, Mcp-Session-Id',
          )
        }
      })

      test('adds no CORS headers to replies to other origins', async () => {
        for (const reply of [
          await get('/v1/agents', 'https://evil.example.com'),
          await service().call('GET', '/v1/agents'),
        ]) {
          assert.equal(reply.status, 200)
          assert.equal(grantOf(reply), null)
          assert.equal(reply.headers.get('access-control-expose-headers'), null)
        }
      })
    })

    describe('CORS of an agent', () => {
      let widget: string
      before(async () => {
        widget = await createAgent(service(), 'widget', { security: { cors: { origins: [WIDGET] } } })
        await createAgent(service(), 'alone', { security: { cors: { origins: [] } } })
        await createAgent(service(), 'guarded', {
          security: { cors: { origins: [WIDGET] }, ipWhitelist: { enabled: true, addresses: ['10.0.0.1'] } },
        })
      })

      test('uses its own origins instead of the service’s on its routes', async () => {
        for (const ref of ['widget', widget, 'w%69dget', '%77%69%64%67%65%74']) {
          const reply = await preflight(`/v1/agents/${ref}/invoke`, WIDGET)
          assert.deepEqual([reply.status, grantOf(reply)], [200, WIDGET])
          assert.equal(reply.headers.get('access-control-max-age'), '600')
          assert.equal((await preflight(`/v1/agents/${ref}/invoke`, APP)).status, 401)
          assert.equal(grantOf(await get(`/v1/agents/${ref}`, WIDGET)), WIDGET)
          assert.equal(grantOf(await get(`/v1/agents/${ref}`, WIDGET, null)), WIDGET)
          assert.equal(grantOf(await get(`/v1/agents/${ref}`, APP)), null)
        }
      })

      test("can't be bypassed with an escape in the path", async () => {
        for (const path of ['/v1/%61gents/widget', '/%761/agents/widget']) {
          assert.equal((await get(path, APP)).status, 404)
        }
      })

      test('applies to no other route', async () => {
        for (const path of ['/v1/agents', '/v1/agents/hello', '/v1/agents/nobody', '/v1/keys', '/v1/agentswidget']) {
          assert.equal((await preflight(path, WIDGET)).status, 401, path)
          assert.equal((await preflight(path, APP)).status, 200, path)
        }
      })

      test('an empty list allows no page', async () => {
        assert.equal((await preflight('/v1/agents/alone', APP)).status, 401)
        assert.equal(grantOf(await get('/v1/agents/alone', APP)), null)
      })

      test("answers no preflight that the agent's own security settings refuse", async () => {
        const from = (address: string) => preflight('/v1/agents/guarded', WIDGET, { 'X-Forwarded-For': address })
        assert.equal((await from('192.0.2.1')).status, 401)
        assert.equal((await from('10.0.0.1')).status, 200)
      })

      test('a change takes effect immediately', async () => {
        const set = (origins: string[]) =>
          service().call('PATCH', '/v1/agents/widget', { body: { security: { cors: { origins } } } })
        assert.equal((await set([LOCAL])).status, 200)
        assert.equal((await preflight('/v1/agents/widget', WIDGET)).status, 401)
        assert.equal((await preflight('/v1/agents/widget', LOCAL)).status, 200)
        const { body } = await service().call('GET', '/v1/agents/widget')
        assert.deepEqual(body.data.security.cors, { origins: [LOCAL], maxAge: 600 })
      })

      test('400 for anything that is not an exact origin', async () => {
        for (const origin of [
          '*',
          'app.example.com',
          `${APP}/`,
          `${APP}/x`,
          'https://*.example.com',
          'https://APP.example.com',
          'https://app.example.com:443',
          'ftp://x',
          'null',
          'https://u@x.example',
        ]) {
          const security = { cors: { origins: [origin] } }
          const reply = await service().call('POST', '/v1/agents', { body: { name: 'wrong', security } })
          assert.equal(reply.status, 400, `${origin}: ${reply.text}`)
          assert.deepEqual(fieldsOf(reply.body), ['security.cors.origins.0'])
        }
      })
    })
  },
  {
    MOORAGE_SECURITY__CORS__ORIGINS: `${APP},${LOCAL}`,
    MOORAGE_SECURITY__CORS__MAX_AGE: '120',
    MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.0/8,::1',
  },
)

onOneEngine('CORS without configuration', (service) => {
  test('is off: preflights are not answered, and no reply has CORS headers', async () => {
    const headers = { Origin: APP, ...PREFLIGHT }
    const preflight = await service().call('OPTIONS', '/v1/agents', { key: null, headers })
    assert.equal(preflight.status, 401)
    const withKey = await service().call('OPTIONS', '/v1/agents', { headers })
    assert.equal(withKey.status, 405)
    const reply = await service().call('GET', '/v1/agents', { headers })
    for (const { headers: sent } of [preflight, withKey, reply]) {
      const names = [...sent.keys()].filter((name) => name.startsWith('access-control') || name === 'vary')
      assert.deepEqual(names, [])
    }
  })

  test('can still be configured for one agent', async () => {
    await createAgent(service(), 'widget', { security: { cors: { origins: [WIDGET], maxAge: 0 } } })
    const ask = (path: string) =>
      service().call('OPTIONS', path, { key: null, headers: { Origin: WIDGET, ...PREFLIGHT } })
    const reply = await ask('/v1/agents/widget/invoke')
    assert.deepEqual([reply.status, grantOf(reply), reply.headers.get('access-control-max-age')], [200, WIDGET, '0'])
    assert.equal((await ask('/v1/agents')).status, 401)
  })
})
