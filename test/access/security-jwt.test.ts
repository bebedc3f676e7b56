import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { generateKeyPair, SignJWT } from 'jose'
import { forgeJwt, JWT_SECRET, JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { onOneEngine, type Service } from '../support/service/service.ts'

const settings = {
  ...JWT_SETTINGS,
  MOORAGE_AUTH__ISSUER: 'https://app.example.com',
  MOORAGE_AUTH__AUDIENCE: 'moorage',
  MOORAGE_LIMITS__DEFAULT_TIER: 'free',
  MOORAGE_ROLES: '{"auditor":["read","manage"]}',
  // Most tests here fail to authenticate on purpose.
  MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '100000',
}

const ours = { iss: 'https://app.example.com', aud: 'moorage' }
const seconds = () => Math.floor(Date.now() / 1000)
const hmac = (algorithm: string) => (input: string) =>
  createHmac(algorithm, JWT_SECRET).update(input).digest('base64url')

onOneEngine(
  'JWT of the service',
  (service) => {
    const ask = (token: string, method = 'GET', path = '/v1/agents', body?: unknown) =>
      service().call(method, path, { key: token, body })
    const sign = (claims: Record<string, unknown> = {}, options = {}) => signJwt({ ...ours, ...claims }, options)

    test('a valid token is accepted, as a viewer if it has no role or permissions', async () => {
      const token = await sign()
      assert.equal((await ask(token)).status, 200)
      assert.equal((await ask(token, 'POST', '/v1/agents', { name: 'by-viewer' })).status, 403)
      const { body } = await ask(token, 'GET', '/v1/keys/self')
      const { expires_at, ...self } = body.data
      assert.deepEqual(self, {
        id: 'token:https://app.example.com#ada',
        kind: 'token',
        person_id: null,
        name: null,
        project_id: 'prj_default',
        reach: 'project',
        agent_id: null,
        permissions: ['read'],
        tier: 'free',
        tiers: [{ name: 'free', requests_per_minute: 60, burst: 100 }],
        default_tier: 'free',
        roles: [{ name: 'viewer', permissions: ['read'] }],
      })
      assert.ok(Date.parse(expires_at) > Date.now())
    })

    test('roles and permissions come from its claims, and the configuration defines the roles', async () => {
      const permissions = async (claims: Record<string, unknown>) =>
        (await ask(await sign(claims), 'GET', '/v1/keys/self')).body.data.permissions
      assert.deepEqual(await permissions({ role: 'developer' }), ['read', 'write'])
      assert.deepEqual(await permissions({ role: 'auditor' }), ['read', 'manage'])
      assert.deepEqual(await permissions({ permissions: ['read', 'delete'] }), ['read', 'delete'])
      assert.deepEqual(await permissions({ role: 'constructor' }), [])
    })

    test("its requests are limited per issuer and subject, with the default tier's limit", async () => {
      const [one, again, other] = await Promise.all([sign({ sub: 'x' }), sign({ sub: 'x', n: 1 }), sign({ sub: 'y' })])
      const remaining = async (token: string) => Number((await ask(token)).headers.get('x-ratelimit-remaining'))
      assert.equal(await remaining(one), 60)
      // The burst is 100 and the limit shown is 60; one request becomes available each second.
      for (let i = 0; i < 80; i++) await ask(one)
      assert.ok((await remaining(again)) < 60)
      assert.equal(await remaining(other), 60)
    })

    const refused: Record<string, () => string | Promise<string>> = {
      'alg none': () => forgeJwt({ alg: 'none' }, claims()),
      'alg None': () => forgeJwt({ alg: 'None' }, claims()),
      'alg nOnE with a signature': () => forgeJwt({ alg: 'nOnE' }, claims(), hmac('sha256')),
      'no alg': () => forgeJwt({}, claims(), hmac('sha256')),
      HS384: () => forgeJwt({ alg: 'HS384' }, claims(), hmac('sha384')),
      HS512: () => forgeJwt({ alg: 'HS512' }, claims(), hmac('sha512')),
      'HS256 with the signature of HS512': () => forgeJwt({ alg: 'HS256' }, claims(), hmac('sha512')),
      RS256: async () => {
        const { privateKey } = await generateKeyPair('RS256')
        return new SignJWT(claims() as never).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)
      },
      'an empty signature': () => forgeJwt({ alg: 'HS256' }, claims()),
      'another secret': () => sign({}, { secret: 'another-secret-that-is-long-enough-too' }),
      'no exp': () => sign({ exp: undefined }),
      'exp as text': () => sign({ exp: String(seconds() + 600) }),
      'exp in ten years': () => sign({ exp: seconds() + 315_360_000 }),
      'a life of more than an hour': () => sign({ exp: seconds() + 3601 }),
      expired: () => sign({ iat: seconds() - 1000, exp: seconds() - 1 }),
      'no iat': () => sign({ iat: undefined }),
      'iat in the future': () => sign({ iat: seconds() + 120, exp: seconds() + 600 }),
      'nbf in the future': () => sign({ nbf: seconds() + 120 }),
      'no user_id': () => sign({ user_id: undefined }),
      'a user_id that is no text': () => sign({ user_id: 7 }),
      'a user_id with a NUL': () => sign({ user_id: 'a\0b' }),
      'a subject with half a character': () => sign({ sub: '\ud800' }),
      'a subject with a line break': () => sign({ sub: 'a\nb' }),
      'another issuer': () => sign({ iss: 'https://evil.example.com' }),
      'no issuer': () => sign({ iss: undefined }),
      'another audience': () => sign({ aud: 'other' }),
      'an unknown permission': () => sign({ permissions: ['root'] }),
      'kid that is a path': () => sign({}, { header: { kid: '../../etc/passwd' } }),
      'kid that is SQL': () => sign({}, { header: { kid: "x' UNION SELECT 'k" } }),
      'an embedded key': () => forgeJwt({ alg: 'HS256', jwk: { kty: 'oct', k: 'AA' } }, claims(), hmac('sha256')),
      'a link to a key': () =>
        forgeJwt({ alg: 'HS256', jku: 'https://evil.example.com/keys' }, claims(), hmac('sha256')),
      'a link to a certificate': () =>
        forgeJwt({ alg: 'HS256', x5u: 'https://evil.example.com/c' }, claims(), hmac('sha256')),
      crit: () => forgeJwt({ alg: 'HS256', crit: ['b64'], b64: false }, claims(), hmac('sha256')),
      'two parts': () => forgeJwt({ alg: 'HS256' }, claims(), hmac('sha256')).split('.').slice(0, 2).join('.'),
      'no token at all': () => 'x',
    }
    const claims = () => ({ ...ours, user_id: 'ada', iat: seconds(), exp: seconds() + 600 })

    describe('always the same 401 for', () => {
      for (const [name, make] of Object.entries(refused)) {
        test(name, async () => {
          const { status, headers, body } = await ask(await make())
          assert.equal(status, 401)
          assert.equal(headers.get('www-authenticate'), 'Bearer realm="moorage"')
          assert.equal(body.error.code, 'unauthorized')
        })
      }
    })

    test('a token that is too large gets 401, or 431 if it exceeds the header limit', async () => {
      assert.equal((await ask('x'.repeat(9_000))).status, 401)
      const { status } = await ask('x'.repeat(100_000)).catch(() => ({ status: 431 }))
      assert.equal(status, 431)
    })

    test('401 once it has expired', async () => {
      const token = await sign()
      assert.equal((await ask(token)).status, 200)
      service().advance(1_800_000)
      assert.equal((await ask(token)).status, 401)
      service().advance(-1_800_000)
    })

    test('tokens are never logged', async () => {
      const token = await sign({ sub: 'logged' })
      await ask(token)
      await ask(`${token}x`)
      assert.match(service().log(), /token:https:\/\/app.example.com#logged/)
      assert.equal(service().log().includes(token), false)
    })
  },
  settings,
)

onOneEngine(
  'JWT of an agent',
  (service) => {
    const secrets = { first: 'the-first-agents-own-secret-000001', second: 'the-second-agents-own-secret-00002' }
    const create = (name: keyof typeof secrets) =>
      service().call('POST', '/v1/agents', { body: { name, auth: { type: 'jwt', secret: secrets[name] } } })
    const status = async (token: string, path: string, method = 'GET', body?: unknown) =>
      (await service().call(method, path, { key: token, body })).status

    test('is accepted only on that agent’s routes, where keys keep working', async () => {
      const { body } = await create('first')
      await create('second')
      const token = await signJwt({ role: 'admin' }, { secret: secrets.first })
      assert.equal(await status(token, '/v1/agents/first'), 200)
      assert.equal(await status(token, `/v1/agents/${body.data.id}`), 200)
      assert.equal(await status(token, '/v1/agents/second'), 401)
      assert.equal(await status(token, '/v1/agents/hello'), 401)
      assert.equal(await status(token, '/v1/agents/no-such-agent'), 401)
      assert.equal(await status(token, '/v1/agents'), 401)
      assert.equal(await status(token, '/v1/keys/self'), 401)
      assert.equal(await status(token, '/v1/keys', 'POST', { name: 'x', role: 'viewer' }), 401)
      assert.equal(await status(service().admin, '/v1/agents/first'), 200)
    })

    test('its permissions apply to the agent: a viewer can read it, an admin can change it', async () => {
      const viewer = await signJwt({}, { secret: secrets.first })
      const admin = await signJwt({ role: 'admin' }, { secret: secrets.first })
      assert.equal(await status(viewer, '/v1/agents/first', 'PATCH', { temperature: 1 }), 403)
      assert.equal(await status(admin, '/v1/agents/first', 'PATCH', { temperature: 1 }), 200)
    })

    test('the same subject and Idempotency-Key at two agents are two requests', async () => {
      const body = { description: 'once' }
      const patch = async (name: keyof typeof secrets) =>
        service().call('PATCH', `/v1/agents/${name}`, {
          key: await signJwt({ role: 'admin', sub: 'same' }, { secret: secrets[name] }),
          body,
          headers: { 'Idempotency-Key': 'same' },
        })
      const [first, second] = [await patch('first'), await patch('second')]
      assert.deepEqual([first.status, second.status], [200, 200])
      assert.notEqual(first.body.data.id, second.body.data.id)
      assert.equal(second.headers.get('idempotent-replayed'), null)
    })

    test('issuer and subject are escaped in created_by, so different pairs never look the same', async () => {
      const secret = 'the-renamed-agents-own-secret-0005'
      const { body } = await service().call('POST', '/v1/agents', { body: { name: 'renamed' } })
      const ids = []
      for (const [issuer, sub] of [
        ['i', 'x#y'],
        ['i#x', 'y'],
        ['i%23x', 'y'],
      ] as const) {
        await service().call('PATCH', '/v1/agents/renamed', { body: { auth: { type: 'jwt', secret, issuer } } })
        const key = await signJwt({ iss: issuer, sub, permissions: ['read', 'write'] }, { secret })
        const reply = await service().call('POST', '/v1/agents/renamed/invoke', { key, body: { message: 'hi' } })
        const receipt = await service().call('GET', `/v1/agents/renamed/invocations/${reply.body.data.request_id}`)
        ids.push(receipt.body.data.created_by)
      }
      assert.deepEqual(ids, [
        `token:${body.data.id}:i#x#y`,
        `token:${body.data.id}:i%23x#y`,
        `token:${body.data.id}:i%2523x#y`,
      ])
    })

    test('changing or removing the secret invalidates old tokens immediately', async () => {
      const old = await signJwt({}, { secret: secrets.second })
      assert.equal(await status(old, '/v1/agents/second'), 200)
      const patch = (auth: unknown) => service().call('PATCH', '/v1/agents/second', { body: { auth } })
      const secret = 'the-second-agents-newest-secret-03'
      assert.equal((await patch({ type: 'jwt', secret })).status, 200)
      assert.equal(await status(old, '/v1/agents/second'), 401)
      const fresh = await signJwt({}, { secret })
      assert.equal(await status(fresh, '/v1/agents/second'), 200)
      assert.equal((await patch(null)).status, 200)
      assert.equal(await status(fresh, '/v1/agents/second'), 401)
    })
  },
  { MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '100000' },
)

onOneEngine('failed tokens', (service: () => Service) => {
  test('429 after thirty from one address; a good key from there still works', async () => {
    const started = performance.now()
    const ask = async (_: unknown, i: number) => (await service().call('GET', '/v1/agents', { key: `t${i}` })).status
    const statuses = await Promise.all(Array.from({ length: 60 }, ask))
    // One request becomes available every two seconds.
    const refilled = Math.ceil((performance.now() - started) / 2_000)
    const judged = statuses.filter((status) => status === 401).length
    assert.ok(judged >= 30 && judged <= 30 + refilled, `${judged} were judged`)
    assert.equal(statuses.filter((status) => status === 429).length, 60 - judged)
    assert.equal((await service().call('GET', '/v1/agents')).status, 200)
    service().advance(60_000)
    assert.equal((await service().call('GET', '/v1/agents', { key: 't' })).status, 401)
  })
})
