import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { jwtVerifier } from '../../src/security/tokens/jwt.ts'

const secret = 'a-secret-of-thirty-two-bytes-or-more'
const now = () => 1_800_000_000_000
const seconds = now() / 1000
const good = { user_id: 'ada', iat: seconds, exp: seconds + 3600 }
const verify = jwtVerifier({ secret, now })

type Json = Record<string, unknown>

const encode = (part: unknown) =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

function hmacToken(payload: unknown, header: Json = {}, key: string = secret, hash = 'sha256'): string {
  const input = `${encode({ alg: 'HS256', typ: 'JWT', ...header })}.${encode(payload)}`
  return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`
}

function padded(length: number): string {
  return hmacToken({ ...good, padding: 'x'.repeat(length) })
}

async function permissionsFor(claims: Json) {
  const result = await verify(hmacToken({ ...good, ...claims }))
  return result.ok ? result.permissions : result.reason
}

describe('a JWT that is accepted', () => {
  test('reports the caller, as a viewer if the token says nothing more', async () => {
    assert.deepEqual(await verify(hmacToken(good)), {
      ok: true,
      user_id: 'ada',
      subject: 'ada',
      issuer: null,
      permissions: ['read'],
      expires_at: (seconds + 3600) * 1000,
    })
  })

  test('may carry a role or permissions; the permissions are the more precise', async () => {
    assert.deepEqual(await permissionsFor({ role: 'admin' }), ['read', 'write', 'delete', 'manage', 'approve'])
    assert.deepEqual(await permissionsFor({ role: 'developer' }), ['read', 'write'])
    assert.deepEqual(await permissionsFor({ permissions: ['delete'] }), ['delete'])
    assert.deepEqual(await permissionsFor({ permissions: [], role: 'admin' }), [])
  })

  test('has no permission from a role that is not defined', async () => {
    const held = await Promise.all(['root', '', '__proto__', 'constructor'].map((role) => permissionsFor({ role })))
    assert.deepEqual(held, [[], [], [], []])
  })

  test('uses the roles of the configuration', async () => {
    const configured = jwtVerifier({ secret, now, roles: { janitor: ['delete'] } })
    const result = await configured(hmacToken({ ...good, role: 'janitor' }))
    assert.deepEqual(result.ok && result.permissions, ['delete'])
  })

  test('may name its subject, issuer and key', async () => {
    const result = await verify(hmacToken({ ...good, sub: 'user-7', iss: 'https://app' }, { kid: '2026-11.main' }))
    assert.deepEqual(result.ok && [result.subject, result.issuer, result.user_id], ['user-7', 'https://app', 'ada'])
  })

  test('may come from a clock that is 30 s ahead', async () => {
    const ahead = { user_id: 'ada', iat: seconds + 30, nbf: seconds + 30, exp: seconds + 60 }
    assert.equal((await verify(hmacToken(ahead))).ok, true)
  })

  test('matches the issuer and audience that are configured', async () => {
    const strict = jwtVerifier({ secret, now, issuer: 'https://app', audience: 'moorage' })
    assert.equal((await strict(hmacToken({ ...good, iss: 'https://app', aud: 'moorage' }))).ok, true)
    assert.equal((await strict(hmacToken({ ...good, iss: 'https://app', aud: ['x', 'moorage'] }))).ok, true)
    const wrong = [
      { iss: 'https://app', aud: 'other' },
      { iss: 'https://app' },
      { iss: 'https://evil', aud: 'moorage' },
      { iss: ['https://app'], aud: 'moorage' },
      { aud: 'moorage' },
    ]
    const results = await Promise.all(wrong.map((claims) => strict(hmacToken({ ...good, ...claims }))))
    assert.deepEqual(
      results.map((result) => !result.ok && result.reason),
      ['wrong_audience', 'wrong_audience', 'wrong_issuer', 'wrong_issuer', 'wrong_issuer'],
    )
  })
})

describe('a JWT that is refused', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const jwk = { kty: 'oct', k: Buffer.from(secret).toString('base64url') }

  function rsaToken(): string {
    const input = `${encode({ alg: 'RS256' })}.${encode(good)}`
    return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
  }

  const cases: [string, string, string][] = [
    ['alg none', `${encode({ alg: 'none' })}.${encode(good)}.`, 'unsupported'],
    ['alg None', `${encode({ alg: 'None' })}.${encode(good)}.`, 'unsupported'],
    ['alg none over a good signature', hmacToken(good, { alg: 'none' }), 'unsupported'],
    ['no alg', hmacToken(good, { alg: undefined }), 'unsupported'],
    ['alg in a list', hmacToken(good, { alg: ['HS256'] }), 'unsupported'],
    ['HS384', hmacToken(good, { alg: 'HS384' }, secret, 'sha384'), 'unsupported'],
    ['RS256', rsaToken(), 'unsupported'],
    ['an RSA public key as HMAC secret', hmacToken(good, {}, publicPem), 'bad_signature'],
    ['another secret', hmacToken(good, {}, 'another-secret-of-thirty-two-bytes'), 'bad_signature'],
    ['no signature', hmacToken(good).replace(/[^.]*$/, ''), 'bad_signature'],
    ['an altered payload', hmacToken(good).replace(encode(good), encode({ ...good, user_id: 'eve' })), 'bad_signature'],
    ['an embedded jwk', hmacToken(good, { jwk }), 'unsupported'],
    ['a jku', hmacToken(good, { jku: 'https://evil.example/keys' }), 'unsupported'],
    ['an x5u', hmacToken(good, { x5u: 'https://evil.example/cert' }), 'unsupported'],
    ['an x5c', hmacToken(good, { x5c: [] }), 'unsupported'],
    ['a crit', hmacToken(good, { crit: ['exp'] }), 'unsupported'],
    ['a kid that is a path', hmacToken(good, { kid: '../../x' }), 'unsupported'],
    ['a kid that is SQL', hmacToken(good, { kid: "x' OR '1'='1" }), 'unsupported'],
    ['a kid that is no text', hmacToken(good, { kid: 7 }), 'unsupported'],
    ['no exp', hmacToken({ ...good, exp: undefined }), 'bad_claims'],
    ['exp as text', hmacToken({ ...good, exp: String(good.exp) }), 'bad_claims'],
    ['exp with a fraction', hmacToken({ ...good, exp: good.exp - 0.5 }), 'bad_claims'],
    ['exp null', hmacToken({ ...good, exp: null }), 'bad_claims'],
    ['exp in ten years', hmacToken({ ...good, exp: seconds + 315_360_000 }), 'bad_claims'],
    ['a life of an hour and a second', hmacToken({ ...good, exp: good.exp + 1 }), 'bad_claims'],
    ['exp now', hmacToken({ ...good, iat: seconds - 60, exp: seconds }), 'expired'],
    ['exp long ago', hmacToken({ ...good, iat: seconds - 7200, exp: seconds - 3600 }), 'expired'],
    ['exp before iat', hmacToken({ ...good, iat: seconds + 20, exp: seconds + 10 }), 'bad_claims'],
    ['no iat', hmacToken({ ...good, iat: undefined }), 'bad_claims'],
    ['iat as text', hmacToken({ ...good, iat: String(seconds) }), 'bad_claims'],
    ['iat in the future', hmacToken({ ...good, iat: seconds + 31 }), 'not_yet_valid'],
    ['nbf in the future', hmacToken({ ...good, nbf: seconds + 31 }), 'not_yet_valid'],
    ['no user_id', hmacToken({ ...good, user_id: undefined }), 'bad_claims'],
    ['an empty user_id', hmacToken({ ...good, user_id: '' }), 'bad_claims'],
    ['a user_id that is no text', hmacToken({ ...good, user_id: 7 }), 'bad_claims'],
    ['a user_id of 257 characters', hmacToken({ ...good, user_id: 'a'.repeat(257) }), 'bad_claims'],
    ['a sub that is no text', hmacToken({ ...good, sub: 7 }), 'bad_claims'],
    ['an unknown permission', hmacToken({ ...good, permissions: ['read', 'root'] }), 'bad_claims'],
    ['permissions as text', hmacToken({ ...good, permissions: 'read' }), 'bad_claims'],
    ['a role that is no text', hmacToken({ ...good, role: ['admin'] }), 'bad_claims'],
    ['a payload that is a list', hmacToken([good]), 'malformed'],
    ['a payload that is not JSON', hmacToken('{'), 'malformed'],
    ['100 kB', hmacToken({ ...good, padding: 'x'.repeat(100_000) }), 'malformed'],
    ['nothing', '', 'malformed'],
    ['one part', 'abc', 'malformed'],
    ['four parts', `${hmacToken(good)}.x`, 'malformed'],
    ['a header that is not JSON', `${encode('{')}.${encode(good)}.x`, 'malformed'],
    ['a NUL', `${hmacToken(good)}\0`, 'malformed'],
    ['a line break', `${hmacToken(good)}\n`, 'malformed'],
    ['50 kB of dots', '.'.repeat(50_000), 'malformed'],
  ]

  for (const [name, token, reason] of cases) {
    test(name, async () => assert.deepEqual(await verify(token), { ok: false, reason }))
  }

  test('more than 8 KiB', async () => {
    const fitting = Array.from({ length: 8192 }, (_, length) => length).findLast((n) => padded(n).length <= 8192) ?? 0
    assert.equal((await verify(padded(fitting))).ok, true)
    assert.deepEqual(await verify(padded(fitting + 1)), { ok: false, reason: 'malformed' })
  })
})

describe('the secret', () => {
  test('is refused at startup if it has 31 bytes', () => {
    assert.throws(() => jwtVerifier({ secret: 'x'.repeat(31), now }), /has 31 bytes; HS256 requires at least 32/)
    assert.throws(() => jwtVerifier({ secret: '', now }), /has 0 bytes/)
  })

  test('is counted in bytes, not characters', async () => {
    const unicode = jwtVerifier({ secret: 'é'.repeat(16), now })
    assert.equal((await unicode(hmacToken(good, {}, 'é'.repeat(16)))).ok, true)
  })
})
