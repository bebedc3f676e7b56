import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
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

async function detailOf(options: Partial<OAuth2Options> = {}): Promise<string> {
  const result = await verifier(options)(await signToken(claims(), key))
  return result.ok ? 'accepted' : `${result.reason}: ${result.detail}`
}

describe('the keys of the provider', () => {
  test('are fetched once for many tokens, also when they come together', async () => {
    const verify = verifier()
    const token = await signToken(claims(), key)
    const results = await Promise.all(Array.from({ length: 50 }, () => verify(token)))
    assert.equal(
      results.every((result) => result.ok),
      true,
    )
    assert.deepEqual(idp.seen, { '/.well-known/openid-configuration': 1, '/keys': 1 })
  })

  test('are asked for at most once in 30 s by a flood of unknown kids', async () => {
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

  test('may be rotated: a new one is found, one that is withdrawn ends within ten minutes', async () => {
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

  test('keep working for a day while the host is down', async () => {
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

  test('are renewed without anyone waiting once the host is known to be down', {
    timeout: 240_000 * PATIENCE,
  }, async () => {
    let isHanging = false
    const asked = Promise.withResolvers<void>()
    const verify = verifier({
      fetch(url, init) {
        if (!isHanging) return fetch(url, init)
        asked.resolve()
        // Whoever waits for it waits for ever.
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

  test('a host that was never reached accepts nothing, and is asked again after 5 s', async () => {
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

  test('a clock that is set back by an hour does no harm', async () => {
    const verify = verifier()
    const token = await signToken(claims(), key)
    await verify(token)
    time = start - hour
    assert.equal(reasonOf(await verify(token)), 'accepted')
    assert.equal(idp.seen['/keys'], 2)
  })
})

describe('what the provider publishes', () => {
  const wellKnown = '/.well-known/openid-configuration'

  test('may be found below a path, by OpenID Connect or by RFC 8414', async () => {
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

  test('must stay on https when the provider is', async () => {
    const issuer = 'https://idp.example'
    idp.answers.set(wellKnown, (response) => response.end(JSON.stringify({ ...idp.metadata, issuer })))
    const detail = await detailOf({
      provider: issuer,
      fetch: (url, init) => fetch(url.replace(issuer, idp.issuer), init),
    })
    assert.match(detail, /^unavailable: .* uses a URL that is not https: http:/)
    assert.equal(idp.seen['/keys'], undefined)
  })

  test('is never followed to another address', async () => {
    idp.answers.set('/keys', (response) => response.writeHead(302, { location: '/elsewhere' }).end())
    assert.match(await detailOf(), /^unavailable: .*\/keys returned 302/)
    assert.equal(idp.seen['/elsewhere'], undefined)
  })

  test('must be JSON of the right shape and of sane size', async () => {
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
