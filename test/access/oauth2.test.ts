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

type Claims = Record<string, unknown>

const clientId = 'moorage'
const start = 1_800_000_000_000
const hour = 3_600_000

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

describe('an access token checked with the keys of the provider', () => {
  test('reports issuer, subject, permissions and end', async () => {
    assert.deepEqual(await verifier()(await signToken(claims(), key)), {
      ok: true,
      issuer: idp.issuer,
      subject: 'ada',
      permissions: ['read', 'write'],
      expires_at: start + hour,
    })
  })

  for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
    test(`may be signed with ${alg}`, async () => {
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

  test('is forbidden, not unauthorized, when a scope is missing', async () => {
    const foreign = await signToken(claims({ scope: 'openid email READ:AGENTS read:agentsx' }), key)
    const none = await signToken(claims({ scope: undefined }), key)
    assert.equal(reasonOf(await verifier()(foreign)), 'forbidden')
    assert.equal(reasonOf(await verifier()(none)), 'forbidden')
  })

  test('may do what its scopes and the configured ones allow, if it carries every other scope that is configured', async () => {
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

  test('may be meant for others too, and belong to a client without a user', async () => {
    const token = await signToken(claims({ aud: ['x', clientId], sub: undefined, client_id: 'robot' }), key)
    const result = await verifier()(token)
    assert.equal(result.ok && result.subject, 'robot')
  })

  test('may come without typ at+jwt when it shows scopes', async () => {
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

  test('another key under the right kid', async () => {
    const forged = await signToken(claims(), await newSigningKey('key-1'))
    assert.equal(reasonOf(await verifier()(forged)), 'bad_signature')
  })

  test('algorithms that are not ours: none, HS256 with the public key, ES384; no one is asked', async () => {
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

  test('anything that is not a token at all, or opaque when no one can be asked about it', async () => {
    const long = await signToken(claims({ padding: 'x'.repeat(100_000) }), key)
    const texts = ['', 'opaque-token', 'a.b.c', 'a b', 'x\0', 'é', '.'.repeat(50_000), long]
    const results = await Promise.all(texts.map(verifier()))
    assert.deepEqual(new Set(results.map(reasonOf)), new Set(['malformed']))
    assert.deepEqual(idp.seen, {})
  })

  test('a published key that is too short', async () => {
    const n = Buffer.alloc(128, 0xff).toString('base64url')
    idp.keys = [{ kty: 'RSA', n, e: 'AQAB', kid: 'short', alg: 'RS256' }]
    const rsa = await newSigningKey('short', 'RS256')
    assert.equal(reasonOf(await verifier()(await signToken(claims(), rsa))), 'unsupported')
  })
})
