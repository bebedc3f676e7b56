import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Overrides } from '../../src/build-parts.ts'
import {
  type IdentityProviderServer,
  newSigningKey,
  type SigningKey,
  signToken,
  startIdentityProvider,
} from '../support/outside/identity-provider.ts'
import { signJwt } from '../support/outside/tokens.ts'
import { type Service, startService } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'
import { createWebhook } from '../support/slices/webhooks.ts'

let idp: IdentityProviderServer
let key: SigningKey
let service: Service

before(async () => {
  idp = await startIdentityProvider()
  key = await newSigningKey('key-1')
  idp.keys = [key.jwk]
})
after(() => idp.close())
beforeEach(() => {
  idp.down = false
  idp.seen = {}
  idp.introspected.length = 0
})

/** Reads the settings only after the provider has its URL. */
function startWith(settings: () => Record<string, string>, overrides: Overrides = {}) {
  before(async () => {
    const withTier = { MOORAGE_LIMITS__DEFAULT_TIER: 'enterprise', ...settings() }
    service = await startService('sqlite', withTier, {}, overrides)
  })
  after(() => service.stop())
}

const auth = () => ({
  MOORAGE_AUTH__TYPE: 'oauth2',
  MOORAGE_AUTH__PROVIDER: idp.issuer,
  MOORAGE_AUTH__CLIENT_ID: 'moorage',
  MOORAGE_AUTH__CLIENT_SECRET: 'the client secret',
})
const manyFailures = { MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '100000' }
/** Agents may have a provider on this machine. */
const localProviders = { MOORAGE_OUTGOING__ALLOW_INSECURE: 'true', MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.0/8' }

function claims(more: Record<string, unknown> = {}): Record<string, unknown> {
  const exp = Math.floor(Date.now() / 1000) + 3600
  return { iss: idp.issuer, aud: 'moorage', sub: 'ada', exp, scope: 'read:agents write:agents', ...more }
}

async function ask(token: string, method = 'GET', path = '/v1/agents', body?: unknown) {
  const reply = await service.call(method, path, { key: token, body })
  return { status: reply.status, error: reply.body.error, data: reply.body.data }
}

describe('OAuth 2.0 of the service', () => {
  startWith(() => ({ ...auth(), ...manyFailures }))

  test('503 while the provider was never reached; no one is let in on trust', async () => {
    idp.down = true
    const { status, error } = await ask(await signToken(claims(), key))
    assert.equal(status, 503)
    assert.deepEqual([error.code, error.retry_after], ['unavailable', 5])
    idp.down = false
    service.advance(5_000)
    assert.equal((await ask(await signToken(claims(), key))).status, 200)
  })

  test('scopes are permissions', async () => {
    const token = await signToken(claims(), key)
    const { data } = await ask(token, 'GET', '/v1/keys/self')
    assert.deepEqual([data.id, data.kind, data.permissions], [`token:${idp.issuer}#ada`, 'token', ['read', 'write']])
    const created = await ask(token, 'POST', '/v1/agents', { name: 'by-token' })
    assert.equal(created.status, 201)
    assert.equal((await ask(token, 'DELETE', '/v1/agents/by-token')).status, 403)
    const all = await signToken(claims({ scope: 'read:agents delete:agents' }), key)
    assert.equal((await ask(all, 'DELETE', '/v1/agents/by-token')).status, 200)
  })

  test('403 to make a webhook, to point one elsewhere and to take its secret: they would outlive the token', async () => {
    const token = await signToken(claims(), key)
    const { id } = await createWebhook(service, { url: 'https://receiver.example/' })
    const url = 'https://elsewhere.example/'
    for (const [method, path, body] of [
      ['POST', '/v1/webhooks', { url, events: ['*'] }],
      ['PATCH', `/v1/webhooks/${id}`, { url }],
      ['POST', `/v1/webhooks/${id}/rotate-secret`],
    ] as const) {
      const { status, error } = await ask(token, method, path, body)
      assert.deepEqual([status, error.code], [403, 'forbidden'])
    }
    assert.equal((await ask(token, 'PATCH', `/v1/webhooks/${id}`, { description: 'seen' })).status, 200)
    const { secret } = await createKey(service, {
      role: 'developer',
      expires_at: new Date(service.now() + 3_600_000).toISOString(),
    })
    assert.equal((await ask(secret, 'POST', '/v1/webhooks', { url, events: ['*'] })).status, 201)
  })

  test('a key made with a token cannot outlive it', async () => {
    const token = await signToken(claims({ scope: 'read:agents manage:agents' }), key)
    const forever = await ask(token, 'POST', '/v1/keys', { name: 'forever', role: 'viewer' })
    assert.equal(forever.status, 403)
    const expires_at = new Date(Date.now() + 60_000).toISOString()
    const short = await ask(token, 'POST', '/v1/keys', { name: 'short', role: 'viewer', expires_at })
    assert.deepEqual([short.status, short.data?.created_by], [201, `token:${idp.issuer}#ada`])
  })

  test('403 for a valid token without a required scope', async () => {
    const { status, error } = await ask(await signToken(claims({ scope: 'openid email' }), key))
    assert.deepEqual([status, error.code], [403, 'forbidden'])
    assert.equal(error.code, 'forbidden')
  })

  const refused: Record<string, () => Promise<string>> = {
    'an ID token': () => signToken(claims({ nonce: 'n', scope: undefined }), key, { typ: 'JWT' }),
    'a token for another client': () => signToken(claims({ aud: 'other' }), key),
    'a token of another issuer': () => signToken(claims({ iss: 'https://evil.example.com' }), key),
    'a token that expired': () => signToken(claims({ exp: 1 }), key),
    'a token that ends after all time': () => signToken(claims({ exp: 9_999_999_999_999 }), key),
    'a token bound to a key': () => signToken(claims({ cnf: { jkt: 'x' } }), key),
    'a token signed with a key that is not published': async () => signToken(claims(), await newSigningKey('key-1')),
    'HS256 signed with the public key': () => signJwt(claims(), { secret: JSON.stringify(key.jwk) }),
  }
  for (const [name, make] of Object.entries(refused)) {
    test(`401 for ${name}`, async () => {
      const { status, error } = await ask(await make())
      assert.equal(status, 401)
      assert.equal(error.code, 'unauthorized')
    })
  }

  test('a flood of unknown key ids brings one request to the provider in thirty seconds', async () => {
    await ask(await signToken(claims(), key))
    service.advance(60_000)
    idp.seen = {}
    const tokens = Array.from({ length: 50 }, (_, i) => signToken(claims(), key, { kid: `random-${i}` }))
    const replies = await Promise.all((await Promise.all(tokens)).map((token) => ask(token)))
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([401]))
    assert.equal(idp.seen['/keys'], 1)
    service.advance(31_000)
    await ask(await signToken(claims(), key, { kid: 'later' }))
    assert.equal(idp.seen['/keys'], 2)
  })

  test('a new key of the provider is found; an old one serves while the provider is down', async () => {
    service.advance(60_000)
    const next = await newSigningKey('key-2')
    idp.keys = [key.jwk, next.jwk]
    assert.equal((await ask(await signToken(claims(), next))).status, 200)
    idp.down = true
    assert.equal((await ask(await signToken(claims(), next))).status, 200)
    service.advance(60_000)
    const { status, error } = await ask(await signToken(claims(), key, { kid: 'unknown' }))
    assert.equal(status, 503)
    assert.deepEqual([error.code, error.retry_after], ['unavailable', 5])
  })

  test('an opaque token is introspected once in fifteen seconds; only the provider receives our secret', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3600
    idp.opaque.set('opaque-1', { active: true, client_id: 'moorage', sub: 'bob', scope: 'read:agents', exp })
    const { status, data } = await ask('opaque-1', 'GET', '/v1/keys/self')
    assert.deepEqual([status, data.id, data.permissions], [200, `token:${idp.issuer}#bob`, ['read']])
    assert.equal((await ask('opaque-1')).status, 200)
    assert.equal(idp.introspected.length, 1)
    assert.equal((await ask('opaque-unknown')).status, 401)

    idp.opaque.delete('opaque-1')
    assert.equal((await ask('opaque-1')).status, 200)
    service.advance(15_000)
    assert.equal((await ask('opaque-1')).status, 401)
    assert.equal(service.log().includes('the client secret'), false)
  })

  test('403 to make a key with an opaque token that does not say when it ends', async () => {
    const scope = 'read:agents manage:agents'
    idp.opaque.set('opaque-endless', { active: true, client_id: 'moorage', sub: 'bob', scope })
    for (const expires_at of [undefined, new Date(service.now() + 60_000).toISOString()]) {
      const { status, error } = await ask('opaque-endless', 'POST', '/v1/keys', {
        name: 'k',
        role: 'viewer',
        expires_at,
      })
      assert.deepEqual([status, error?.code], [403, 'forbidden'])
    }
  })

  test('503 for an opaque token while the provider is down', async () => {
    idp.down = true
    const { status, error } = await ask('opaque-3')
    assert.equal(status, 503)
    assert.deepEqual([error.code, error.retry_after], ['unavailable', 5])
  })

  test('an API key is never shown to the provider', async () => {
    for (const wrong of [service.admin, `${service.admin}x`, 'mrg_nonsense']) await ask(wrong)
    assert.deepEqual(idp.introspected, [])
    assert.deepEqual(idp.seen, {})
  })
})

describe('auth.scopes of the service', () => {
  startWith(() => ({ ...auth(), MOORAGE_AUTH__SCOPES: 'read:agents,write:agents,moorage' }))

  test('only the listed scopes grant permissions, and the required ones must be present', async () => {
    const permissions = async (scope: string) => {
      const { status, data } = await ask(await signToken(claims({ scope }), key), 'GET', '/v1/keys/self')
      return data?.permissions ?? status
    }
    assert.deepEqual(await permissions('moorage read:agents manage:agents'), ['read'])
    assert.deepEqual(await permissions('read:agents'), 403)
    assert.deepEqual(await permissions('moorage manage:agents'), 403)
  })
})

describe('opaque floods', () => {
  // The clock is held, so no requests become available meanwhile.
  const time = Date.now()
  startWith(auth, { now: () => time })

  test('an address that failed too often is refused without asking the provider', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 60; i++) statuses.push((await ask(`flood-${i}`)).status)
    assert.deepEqual([statuses[29], statuses[30], statuses[59]], [401, 429, 429])
    assert.ok(idp.introspected.length <= 32, String(idp.introspected.length))
  })
})

describe('OAuth 2.0 of an agent', () => {
  startWith(() => ({ ...manyFailures, ...localProviders }))
  let other: IdentityProviderServer
  let otherKey: SigningKey
  before(async () => {
    other = await startIdentityProvider()
    otherKey = await newSigningKey('other-1')
    other.keys = [otherKey.jwk]
    for (const [name, { issuer }] of Object.entries({ ours: idp, theirs: other })) {
      const own = { type: 'oauth2', provider: issuer, clientId: 'moorage', clientSecret: 'a secret of sixteen' }
      assert.equal((await service.call('POST', '/v1/agents', { body: { name, auth: own } })).status, 201)
    }
  })
  after(() => other.close())

  test("two agents with two providers: each provider's tokens work only on its agent's routes", async () => {
    const mine = await signToken(claims(), key)
    const yours = await signToken(claims({ iss: other.issuer }), otherKey)
    const statuses = async (token: string) =>
      Promise.all(
        ['/v1/agents/ours', '/v1/agents/theirs', '/v1/agents/hello', '/v1/agents'].map((path) =>
          ask(token, 'GET', path),
        ),
      ).then((replies) => replies.map(({ status }) => status))
    assert.deepEqual(await statuses(mine), [200, 401, 401, 401])
    assert.deepEqual(await statuses(yours), [401, 200, 401, 401])
  })

  test('a change to another agent does not make it ask for keys again', async () => {
    const token = await signToken(claims(), key)
    await ask(token, 'GET', '/v1/agents/ours')
    idp.seen = {}
    await service.call('PATCH', '/v1/agents/hello', { body: { temperature: 1 } })
    assert.equal((await ask(token, 'GET', '/v1/agents/ours')).status, 200)
    assert.deepEqual(idp.seen, {})
  })

  test('503 when its provider is down, for that agent alone', async () => {
    other.down = true
    service.advance(20_000)
    assert.equal((await ask('opaque', 'GET', '/v1/agents/theirs')).status, 503)
    assert.equal((await ask('opaque', 'GET', '/v1/agents/ours')).status, 401)
    other.down = false
  })
})

describe('the service and an agent with providers of their own', () => {
  startWith(() => ({ ...auth(), ...localProviders }))
  let agents: IdentityProviderServer
  before(async () => {
    agents = await startIdentityProvider()
    const own = {
      type: 'oauth2',
      provider: agents.issuer,
      clientId: 'moorage',
      clientSecret: 'a secret of sixteen',
      introspection: 'always',
    }
    await service.call('POST', '/v1/agents', { body: { name: 'curious', auth: own } })
  })
  after(() => agents.close())

  test('a token of the service works on the agent, and is never shown to the agent’s provider', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3600
    idp.opaque.set('service-token', { active: true, client_id: 'moorage', sub: 'bob', scope: 'read:agents', exp })
    assert.equal((await ask('service-token', 'GET', '/v1/agents/curious')).status, 200)
    assert.equal((await ask(await signToken(claims(), key), 'GET', '/v1/agents/curious')).status, 200)

    // Neither while its own provider is down nor with an expired token.
    idp.down = true
    service.advance(20_000)
    assert.equal((await ask('service-token', 'GET', '/v1/agents/curious')).status, 503)
    assert.equal((await ask(await signToken(claims({ exp: 1 }), key), 'GET', '/v1/agents/curious')).status, 401)
    assert.deepEqual(agents.introspected, [])
  })

  test('a token of the agent is the agent’s, and scoped to it', async () => {
    agents.opaque.set('agent-token', { active: true, client_id: 'moorage', sub: 'ada', scope: 'read:agents' })
    assert.equal((await ask('agent-token', 'GET', '/v1/agents/curious')).status, 200)
    assert.equal((await ask('agent-token', 'GET', '/v1/agents/hello')).status, 401)
    agents.opaque.set('caller-token', { active: true, client_id: 'moorage', sub: 'ada', scope: 'invoke:agents' })
    const chat = { model: 'curious', messages: [{ role: 'user', content: 'ahoy' }] }
    const { status } = await service.call('POST', '/v1/chat/completions', { key: 'caller-token', body: chat })
    assert.equal(status, 200, 'also where the body names the agent')
    assert.match(service.log(), /"actor":"token:agt_[0-9A-Z]{26}:http:\/\/127.0.0.1:\d+#ada"/)
  })
})
