import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type OAuth2Options, oauth2Verifier } from '../../src/security/tokens/oauth2.ts'
import {
  type IdentityProviderServer,
  newSigningKey,
  signToken,
  startIdentityProvider,
} from '../support/outside/identity-provider.ts'

const clientId = 'moorage & co'
const clientSecret = 's3cret:/+ é'
const start = 1_800_000_000_000
const end = start / 1000 + 3600

let idp: IdentityProviderServer
let time = start
const now = () => time

before(async () => {
  idp = await startIdentityProvider()
})
after(() => idp.close())
beforeEach(() => {
  time = start
  idp.seen = {}
  idp.introspected = []
  idp.opaque.clear()
  idp.answers.clear()
  idp.down = false
})

function verifier(options: Partial<OAuth2Options> = {}) {
  return oauth2Verifier({ provider: idp.issuer, clientId, clientSecret, fetch, now, ...options })
}

function active(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { active: true, aud: clientId, sub: 'ada', exp: end, scope: 'read:agents', token_type: 'Bearer', ...more }
}

function reasonOf(result: Awaited<ReturnType<ReturnType<typeof verifier>>>): string {
  return result.ok ? 'accepted' : result.reason
}

describe('an opaque token', () => {
  test('is what the provider says it is', async () => {
    idp.opaque.set('opaque-1', active())
    assert.deepEqual(await verifier()('opaque-1'), {
      ok: true,
      issuer: idp.issuer,
      subject: 'ada',
      permissions: ['read'],
      expires_at: start + 3_600_000,
    })
    assert.equal(idp.seen['/keys'], undefined)
  })

  test('is introspected as the configured client: form-encoded, then Basic', async () => {
    await verifier()('opaque-1')
    const [asked] = idp.introspected
    const [user, password] = Buffer.from(asked?.authorization?.replace('Basic ', '') ?? '', 'base64')
      .toString()
      .split(':')
    assert.deepEqual([...new URLSearchParams(`user=${user}&password=${password}`).values()], [clientId, clientSecret])
    assert.deepEqual(Object.fromEntries(asked?.form ?? []), { token: 'opaque-1', token_type_hint: 'access_token' })
  })

  test('is introspected with the credentials in the form, if the provider accepts no other way', async () => {
    const metadata = { ...idp.metadata, introspection_endpoint_auth_methods_supported: ['client_secret_post'] }
    idp.answers.set('/.well-known/openid-configuration', (response) => response.end(JSON.stringify(metadata)))
    await verifier()('opaque-1')
    const [asked] = idp.introspected
    assert.equal(asked?.authorization, undefined)
    assert.equal(asked?.form.get('client_id'), clientId)
    assert.equal(asked?.form.get('client_secret'), clientSecret)
  })

  const cases: [string, Record<string, unknown>, string][] = [
    ['inactive', { active: false }, 'inactive'],
    ['of another client', active({ aud: 'other' }), 'wrong_audience'],
    ['issued to us, without audience', active({ aud: undefined, client_id: clientId }), 'accepted'],
    ['issued to another, without audience', active({ aud: undefined, client_id: 'other' }), 'wrong_audience'],
    ['for several audiences', active({ aud: ['other', clientId] }), 'accepted'],
    ['of another issuer', active({ iss: 'https://evil.example' }), 'wrong_issuer'],
    ['ended, though called active', active({ exp: start / 1000 }), 'expired'],
    ['not yet valid, though called active', active({ nbf: start / 1000 + 31 }), 'not_yet_valid'],
    ['without scope', active({ scope: undefined }), 'forbidden'],
    ['with other scopes', active({ scope: 'openid' }), 'forbidden'],
    ['without subject', active({ sub: undefined }), 'bad_claims'],
    ['a refresh token', active({ token_use: 'refresh_token' }), 'wrong_type'],
    ['an ID token', active({ typ: 'ID' }), 'wrong_type'],
    ['bound to a key', active({ cnf: { jkt: 'x' } }), 'wrong_type'],
    ['of type DPoP', active({ token_type: 'DPoP' }), 'wrong_type'],
    ['active as text', { ...active(), active: 'true' }, 'unavailable'],
  ]
  for (const [name, answer, reason] of cases) {
    test(`${name}: ${reason}`, async () => {
      idp.opaque.set('opaque-1', answer)
      assert.equal(reasonOf(await verifier()('opaque-1')), reason)
    })
  }

  test('without an end is accepted without one', async () => {
    idp.opaque.set('opaque-1', active({ exp: undefined }))
    const result = await verifier()('opaque-1')
    assert.equal(result.ok && result.expires_at, null)
  })

  test('no one can check while the provider is down, or refuses us: unavailable', async () => {
    idp.opaque.set('opaque-1', active())
    const verify = verifier()
    idp.answers.set('/introspect', (response) => response.writeHead(401).end())
    assert.deepEqual(await verify('opaque-1'), {
      ok: false,
      reason: 'unavailable',
      detail: `${idp.issuer}/introspect returned 401`,
    })
    idp.answers.clear()
    idp.down = true
    assert.equal(reasonOf(await verify('opaque-1')), 'unavailable')
    idp.down = false
    assert.equal(reasonOf(await verify('opaque-1')), 'accepted')
  })
})

describe('introspection of every token', () => {
  test('also checks JWTs with the provider, and still rejects an ID token', async () => {
    const key = await newSigningKey('key-1')
    const verify = verifier({ introspection: true })
    const access = await signToken({ scope: 'read:agents' }, key)
    const id = await signToken({ nonce: 'n' }, key, { typ: 'JWT' })
    idp.opaque.set(access, active()).set(id, active())
    assert.equal(reasonOf(await verify(access)), 'accepted')
    assert.equal(reasonOf(await verify(id)), 'wrong_type')
    assert.equal(idp.seen['/keys'], undefined)
    assert.equal(idp.seen['/introspect'], 1)
  })

  test('needs the client secret', () => {
    assert.throws(() => verifier({ introspection: true, clientSecret: undefined }), /needs auth\.clientSecret/)
  })
})

describe('answers that are remembered', () => {
  test('serve for 15 s: then a revocation is noticed', async () => {
    idp.opaque.set('opaque-1', active())
    const verify = verifier()
    await verify('opaque-1')
    idp.opaque.clear()
    time = start + 14_999
    assert.equal(reasonOf(await verify('opaque-1')), 'accepted')
    assert.equal(idp.seen['/introspect'], 1)
    time = start + 15_000
    assert.equal(reasonOf(await verify('opaque-1')), 'inactive')
    assert.equal(idp.seen['/introspect'], 2)
  })

  test('serve never beyond the end of the token', async () => {
    idp.opaque.set('opaque-1', active({ exp: start / 1000 + 5 }))
    const verify = verifier()
    await verify('opaque-1')
    time = start + 5000
    assert.equal(reasonOf(await verify('opaque-1')), 'expired')
    assert.equal(idp.seen['/introspect'], 2)
  })

  test('are requested once for simultaneous requests', async () => {
    idp.opaque.set('opaque-1', active())
    const verify = verifier()
    const results = await Promise.all(Array.from({ length: 50 }, () => verify('opaque-1')))
    assert.deepEqual(new Set(results.map(reasonOf)), new Set(['accepted']))
    assert.equal(idp.seen['/introspect'], 1)
  })

  test('are bounded, and a flood of false tokens does not push out a good one', async () => {
    let asked = 0
    const verify = verifier({
      async fetch(url, init) {
        if (!url.endsWith('/introspect')) return fetch(url, init)
        asked += 1
        return Response.json(init.body?.includes('token=good') ? active() : { active: false })
      },
    })
    await verify('good')
    await Promise.all(Array.from({ length: 2001 }, (_, n) => verify(`false-${n}`)))
    assert.equal(asked, 2002)
    await Promise.all([verify('good'), verify('false-2000')])
    assert.equal(asked, 2002)
    await verify('false-0')
    assert.equal(asked, 2003)
  })
})
