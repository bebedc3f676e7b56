import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, beforeEach, describe, test } from 'node:test'
import { exportSPKI, importJWK } from 'jose'
import { type OAuth2Options, oauth2Verifier } from '../../src/security/tokens/oauth2.ts'
import {
  type IdentityProviderServer,
  newSigningKey,
  type SigningKey,
  signToken,
  startIdentityProvider,
} from '../support/outside/identity-provider.ts'
import { PATIENCE } from '../support/running/patience.ts'

type Claims = Record<string, unknown>

const clientId = 'moorage'
const start = 1_800_000_000_000
const second = 1000
const minute = 60 * second
const hour = 60 * minute

let idp: IdentityProviderServer
let key: SigningKey
let time = start
const now = () => time

before(async () => {
  idp = await startIdentityProvider()
  key = await newSigningKey('key-1')
})
after(() => idp.close())
beforeEach(() => {
  time = start
  idp.keys = [key.jwk]
  idp.seen = {}
  idp.answers.clear()
  idp.down = false
})

function verifier(options: Partial<OAuth2Options> = {}) {
  return oauth2Verifier({ provider: idp.issuer, clientId, fetch, now, ...options })
}

function claims(more: Claims = {}): Claims {
  const exp = start / 1000 + 3600
  return { iss: idp.issuer, aud: clientId, sub: 'ada', exp, scope: 'read:agents write:agents', ...more }
}

function reasonOf(result: Awaited<ReturnType<ReturnType<typeof verifier>>>): string {
  return result.ok ? 'accepted' : result.reason
}

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

async function detailOf(options: Partial<OAuth2Options> = {}): Promise<string> {
  const result = await verifier(options)(await signToken(claims(), key))
  return result.ok ? 'accepted' : `${result.reason}: ${result.detail}`
}

describe("an access token checked with the provider's keys", () => {
  test('returns issuer, subject, permissions and expiry', async () => {
    assert.deepEqual(await verifier()(await signToken(claims(), key)), {
      ok: true,
      issuer: idp.issuer,
      subject: 'ada',
      permissions: ['read', 'write'],
      expires_at: start + hour,
    })
  })

  for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
    test(`can be signed with ${alg}`, async () => {
      const other = await newSigningKey('key-2', alg)
      idp.keys = [key.jwk, other.jwk]
      assert.equal(reasonOf(await verifier()(await signToken(claims(), other))), 'accepted')
    })
  }

  test('maps each scope to its permission, from `scope` or `scp`, text or list', async () => {
    const verify = verifier()
    const permissions = async (scopes: Claims) => {
      const result = await verify(await signToken(claims({ scope: undefined, ...scopes }), key))
      return result.ok ? result.permissions : result.reason
    }
    assert.deepEqual(await permissions({ scope: 'openid manage:agents delete:agents' }), ['manage', 'delete'])
    assert.deepEqual(await permissions({ scp: ['read:agents', 'write:agents'] }), ['read', 'write'])
    assert.deepEqual(await permissions({ scp: 'read:agents' }), ['read'])
    assert.deepEqual(await permissions({ scope: 'invoke:agents' }), ['invoke'])
    assert.deepEqual(await permissions({ scope: 'read:agents', scp: ['read:agents'] }), ['read'])
  })

  test('is "forbidden" rather than "unauthorized" if a scope is missing', async () => {
    const foreign = await signToken(claims({ scope: 'openid email READ:AGENTS read:agentsx' }), key)
    const none = await signToken(claims({ scope: undefined }), key)
    assert.equal(reasonOf(await verifier()(foreign)), 'forbidden')
    assert.equal(reasonOf(await verifier()(none)), 'forbidden')
  })

  test('gets the permissions that its scopes and the configured ones share, and needs every other configured scope', async () => {
    const both = ['read:agents', 'write:agents']
    const mine = ['read:agents', 'moorage']
    const cases: [string[], string, string[] | 'forbidden'][] = [
      [both, 'read:agents', ['read']],
      [both, 'read:agents manage:agents', ['read']],
      [both, 'manage:agents', 'forbidden'],
      [mine, 'read:agents', 'forbidden'],
      [mine, 'read:agents moorage', ['read']],
    ]
    for (const [scopes, scope, expected] of cases) {
      const result = await verifier({ scopes })(await signToken(claims({ scope }), key))
      assert.deepEqual(result.ok ? result.permissions : result.reason, expected, `${scopes} / ${scope}`)
    }
  })

  test('can have several audiences, and a client instead of a user', async () => {
    const token = await signToken(claims({ aud: ['x', clientId], sub: undefined, client_id: 'robot' }), key)
    const result = await verifier()(token)
    assert.equal(result.ok && result.subject, 'robot')
  })

  test('does not need typ at+jwt if it contains scopes', async () => {
    const verify = verifier()
    assert.equal(reasonOf(await verify(await signToken(claims(), key, { typ: 'JWT' }))), 'accepted')
    assert.equal(reasonOf(await verify(await signToken(claims(), key, { typ: undefined }))), 'accepted')
    assert.equal(reasonOf(await verify(await signToken(claims(), key, { typ: 'application/AT+JWT' }))), 'accepted')
    assert.equal(
      reasonOf(await verify(await signToken(claims({ token_use: 'access', typ: 'Bearer' }), key))),
      'accepted',
    )
  })
})

describe('a token that is refused', () => {
  const untyped = { typ: 'JWT' }
  const past = start / 1000 - 1
  const cases: [string, Claims, Record<string, unknown>, string][] = [
    ['an ID token with nonce', { nonce: 'n' }, untyped, 'wrong_type'],
    ['an ID token with at_hash', { at_hash: 'h' }, untyped, 'wrong_type'],
    ['an ID token without marks', { scope: undefined, email: 'ada@example.com' }, untyped, 'wrong_type'],
    ['an ID token of Cognito', { token_use: 'id' }, untyped, 'wrong_type'],
    ['an ID token of Keycloak', { typ: 'ID' }, untyped, 'wrong_type'],
    ['a refresh token of Keycloak', { typ: 'Refresh' }, untyped, 'wrong_type'],
    ['a logout token', {}, { typ: 'logout+jwt' }, 'wrong_type'],
    ['a typ that is no text', {}, { typ: 7 }, 'wrong_type'],
    ['a token bound to a key', { cnf: { jkt: 'x' } }, {}, 'wrong_type'],
    ['aud of another client', { aud: 'other' }, {}, 'wrong_audience'],
    ['aud of another client, ours as azp', { aud: 'other', azp: clientId }, {}, 'wrong_audience'],
    ['no aud', { aud: undefined }, {}, 'wrong_audience'],
    ['another issuer', { iss: 'https://evil.example' }, {}, 'wrong_issuer'],
    ['no issuer', { iss: undefined }, {}, 'wrong_issuer'],
    ['no exp', { exp: undefined }, {}, 'bad_claims'],
    ['exp as text', { exp: '1900000000' }, {}, 'bad_claims'],
    ['exp after the year 9999', { exp: 253_402_300_800 }, {}, 'bad_claims'],
    ['exp a second ago', { exp: past }, {}, 'expired'],
    ['exp an hour ago', { exp: past - 3600 }, {}, 'expired'],
    ['nbf in the future', { nbf: start / 1000 + 31 }, {}, 'not_yet_valid'],
    ['nobody', { sub: undefined }, {}, 'bad_claims'],
    ['a sub that is no text', { sub: 7 }, {}, 'bad_claims'],
    ['scopes that are no text', { scope: 7 }, {}, 'bad_claims'],
    ['an embedded jwk', {}, { jwk: { kty: 'EC' } }, 'unsupported'],
    ['a jku', {}, { jku: 'https://evil.example/keys' }, 'unsupported'],
    ['an x5u', {}, { x5u: 'https://evil.example/cert' }, 'unsupported'],
    ['an x5c', {}, { x5c: ['MIIB'] }, 'unsupported'],
    ['a kid that is a path', {}, { kid: '../../keys' }, 'unknown_key'],
    ['a kid that is SQL', {}, { kid: "key-1' --" }, 'unknown_key'],
  ]
  for (const [name, more, header, reason] of cases) {
    test(name, async () => assert.equal(reasonOf(await verifier()(await signToken(claims(more), key, header))), reason))
  }

  test('is signed with another key under the right kid', async () => {
    const forged = await signToken(claims(), await newSigningKey('key-1'))
    assert.equal(reasonOf(await verifier()(forged)), 'bad_signature')
  })

  test("uses an unsupported algorithm (none, HS256 with the public key, ES384); the provider isn't asked", async () => {
    const publicKey = (await importJWK(key.jwk, 'ES256')) as CryptoKey
    const input = `${encode({ alg: 'HS256', kid: 'key-1' })}.${encode(claims())}`
    const hmac = createHmac('sha256', await exportSPKI(publicKey))
      .update(input)
      .digest('base64url')
    const tokens = [
      `${encode({ alg: 'none' })}.${encode(claims())}.`,
      `${input}.${hmac}`,
      await signToken(claims(), await newSigningKey('key-1', 'ES384')),
      `${encode({ alg: 'ES256', kid: 'key-1', crit: ['b64'], b64: false })}.${encode(claims())}.c2ln`,
    ]
    const results = await Promise.all(tokens.map(verifier()))
    assert.deepEqual(results.map(reasonOf), ['unsupported', 'unsupported', 'unsupported', 'unsupported'])
    assert.deepEqual(idp.seen, {})
  })

  test("is not a token at all, or is opaque while the provider can't be asked about it", async () => {
    const long = await signToken(claims({ padding: 'x'.repeat(100_000) }), key)
    const texts = ['', 'opaque-token', 'a.b.c', 'a b', 'x\0', 'é', '.'.repeat(50_000), long]
    const results = await Promise.all(texts.map(verifier()))
    assert.deepEqual(new Set(results.map(reasonOf)), new Set(['malformed']))
    assert.deepEqual(idp.seen, {})
  })

  test('is signed with a published key that is too short', async () => {
    const n = Buffer.alloc(128, 0xff).toString('base64url')
    idp.keys = [{ kty: 'RSA', n, e: 'AQAB', kid: 'short', alg: 'RS256' }]
    const rsa = await newSigningKey('short', 'RS256')
    assert.equal(reasonOf(await verifier()(await signToken(claims(), rsa))), 'unsupported')
  })
})

describe("the provider's keys", () => {
  test('are fetched once for many simultaneous tokens', async () => {
    const verify = verifier()
    const token = await signToken(claims(), key)
    const results = await Promise.all(Array.from({ length: 50 }, () => verify(token)))
    assert.equal(
      results.every((result) => result.ok),
      true,
    )
    assert.deepEqual(idp.seen, { '/.well-known/openid-configuration': 1, '/keys': 1 })
  })

  test('are fetched at most once in 30 s during a flood of unknown key ids', async () => {
    const verify = verifier()
    const flood = await Promise.all(
      Array.from({ length: 100 }, (_, n) => signToken(claims(), { ...key, jwk: { kid: `random-${n}` } })),
    )
    const refused = new Set((await Promise.all(flood.map(verify))).map(reasonOf))
    time = start + 29 * second
    for (const result of await Promise.all(flood.map(verify))) refused.add(reasonOf(result))
    assert.deepEqual([...refused], ['unknown_key'])
    assert.equal(idp.seen['/keys'], 1)

    time = start + 30 * second
    await Promise.all(flood.map(verify))
    assert.equal(idp.seen['/keys'], 2)
    assert.equal(reasonOf(await verify(await signToken(claims(), key))), 'accepted')
  })

  test('can be rotated: a new key works immediately, and a removed key stops working within ten minutes', async () => {
    const verify = verifier()
    const old = await signToken(claims(), key)
    assert.equal(reasonOf(await verify(old)), 'accepted')
    const next = await newSigningKey('key-2')
    idp.keys = [next.jwk]
    time = start + 31 * second
    assert.equal(reasonOf(await verify(await signToken(claims(), next))), 'accepted')
    assert.equal(reasonOf(await verify(old)), 'unknown_key')

    idp.keys = [key.jwk]
    time += 10 * minute
    assert.equal(reasonOf(await verify(await signToken(claims(), next))), 'unknown_key')
  })

  test('keep working for a day while the provider is down', async () => {
    const verify = verifier()
    const token = await signToken(claims({ exp: start / 1000 + 200_000 }), key)
    assert.equal(reasonOf(await verify(token)), 'accepted')
    idp.down = true
    time = start + 23 * hour
    assert.equal(reasonOf(await verify(token)), 'accepted')
    const unknown = await signToken(claims({ exp: start / 1000 + 200_000 }), await newSigningKey('key-2'))
    assert.equal(reasonOf(await verify(unknown)), 'unavailable')
    time = start + 24 * hour
    assert.equal(reasonOf(await verify(token)), 'unavailable')
    idp.down = false
    time += 5 * second
    assert.equal(reasonOf(await verify(token)), 'accepted')
  })

  test('are renewed in the background once the provider is known to be down', {
    timeout: 240_000 * PATIENCE,
  }, async () => {
    let isHanging = false
    const asked = Promise.withResolvers<void>()
    const verify = verifier({
      fetch(url, init) {
        if (!isHanging) return fetch(url, init)
        asked.resolve()
        // A caller that waits for this promise would wait forever.
        return new Promise(() => {})
      },
    })
    const token = await signToken(claims(), key)
    await verify(token)
    idp.down = true
    time = start + 11 * minute
    assert.equal(reasonOf(await verify(token)), 'accepted')
    isHanging = true
    time += 31 * second
    assert.equal(reasonOf(await verify(token)), 'accepted')
    await asked.promise
  })

  test('if the provider was never reached, no token is accepted, and the next try is after 5 s', async () => {
    const verify = verifier()
    const token = await signToken(claims(), key)
    idp.down = true
    assert.equal(reasonOf(await verify(token)), 'unavailable')
    const asked = { ...idp.seen }
    idp.down = false
    assert.equal(reasonOf(await verify(token)), 'unavailable')
    assert.deepEqual(idp.seen, asked)
    time += 5 * second
    assert.equal(reasonOf(await verify(token)), 'accepted')
  })

  test('still work after the clock is set back by an hour', async () => {
    const verify = verifier()
    const token = await signToken(claims(), key)
    await verify(token)
    time = start - hour
    assert.equal(reasonOf(await verify(token)), 'accepted')
    assert.equal(idp.seen['/keys'], 2)
  })
})

describe("the provider's metadata", () => {
  const wellKnown = '/.well-known/openid-configuration'

  test('can be below a path, as in OpenID Connect or RFC 8414', async () => {
    const tenant = await startIdentityProvider('/tenant')
    tenant.keys = [key.jwk]
    try {
      const token = await signToken(claims({ iss: tenant.issuer }), key)
      assert.equal(reasonOf(await verifier({ provider: tenant.issuer })(token)), 'accepted')
      assert.equal(reasonOf(await verifier({ provider: `${tenant.issuer}/` })(token)), 'accepted')
      tenant.answers.set(`/tenant${wellKnown}`, (response) => response.writeHead(404).end())
      tenant.answers.set('/.well-known/oauth-authorization-server/tenant', (response) =>
        response.end(JSON.stringify(tenant.metadata)),
      )
      assert.equal(reasonOf(await verifier({ provider: tenant.issuer })(token)), 'accepted')
    } finally {
      await tenant.close()
    }
  })

  test('must name the issuer that was configured', async () => {
    idp.answers.set(wellKnown, (response) =>
      response.end(JSON.stringify({ ...idp.metadata, issuer: 'https://evil.example' })),
    )
    assert.match(await detailOf(), /^unavailable: .* calls itself https:\/\/evil\.example/)
  })

  test('must use https if the provider does', async () => {
    const issuer = 'https://idp.example'
    idp.answers.set(wellKnown, (response) => response.end(JSON.stringify({ ...idp.metadata, issuer })))
    const detail = await detailOf({
      provider: issuer,
      fetch: (url, init) => fetch(url.replace(issuer, idp.issuer), init),
    })
    assert.match(detail, /^unavailable: .* uses a URL that is not https: http:/)
    assert.equal(idp.seen['/keys'], undefined)
  })

  test('must not redirect', async () => {
    idp.answers.set('/keys', (response) => response.writeHead(302, { location: '/elsewhere' }).end())
    assert.match(await detailOf(), /^unavailable: .*\/keys returned 302/)
    assert.equal(idp.seen['/elsewhere'], undefined)
  })

  test('must be valid JSON of a reasonable size', async () => {
    idp.answers.set('/keys', (response) => response.end('<html>'))
    assert.match(await detailOf(), /^unavailable: .*\/keys returned an unexpected answer/)
    idp.answers.set('/keys', (response) => response.end('{"keys":[]}'))
    assert.match(await detailOf(), /^unavailable: .*\/keys returned an unexpected answer/)
    idp.answers.set('/keys', (response) => response.end(JSON.stringify({ keys: [key.jwk], x: 'x'.repeat(300_000) })))
    assert.match(await detailOf(), /^unavailable: .*\/keys returned more than 262144 bytes/)
    idp.answers.set(wellKnown, (response) => response.end('null'))
    assert.match(await detailOf(), /^unavailable: .* returned an unexpected answer/)
    idp.answers.set(wellKnown, (response) => response.end(JSON.stringify({ issuer: idp.issuer })))
    assert.match(await detailOf(), /^unavailable: .* publishes no jwks_uri/)
  })
})
