import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SignJWT } from 'jose'
import { PersonTab } from '../support/console/person-tab.ts'
import {
  type IdentityProviderServer,
  newSigningKey,
  type SigningKey,
  startIdentityProvider,
} from '../support/outside/identity-provider.ts'
import { CLIENT, type OidcIssuer, startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import { forgeJwt } from '../support/outside/tokens.ts'
import { type Service, startService } from '../support/service/service.ts'

type Claims = Record<string, unknown>

/** Where the console goes when the sign-in was refused. */
const REFUSED = '/#sign-in-failed=refused'

describe('signing in with a provider that sends forged or wrong tokens', () => {
  let liar: IdentityProviderServer
  let honest: OidcIssuer
  let service: Service
  let key: SigningKey
  let other: SigningKey

  before(async () => {
    liar = await startIdentityProvider()
    liar.metadata = {
      ...liar.metadata,
      authorization_endpoint: `${liar.issuer}/authorize`,
      token_endpoint: `${liar.issuer}/token`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['ES256'],
    }
    key = await newSigningKey('one')
    other = await newSigningKey('one')
    liar.keys = [key.jwk]
    honest = await startOidcIssuer()
    const roles = [{ group: 'all', project: '*', role: 'viewer' }]
    const lying = { name: 'liar', issuer: liar.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, roles }
    const oidc = JSON.stringify([honest.entry({ roles }), lying])
    service = await startService('sqlite', {
      MOORAGE_CONSOLE__OIDC: oidc,
      MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '999',
    })
    honest.serve(service.url)
    honest.accounts.set('ada', { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] })
  })
  after(async () => {
    await service.stop()
    await honest.close()
    await liar.close()
  })

  const newTab = () => new PersonTab(() => service)
  const locationOf = (headers: Headers) => (headers.get('location') ?? '').replace(service.url, '')

  /** Returns from the provider with an ID token that contains these claims. Resolves with the URL where the browser ends. */
  async function comeBackWith(change: Claims, sign?: (claims: Claims) => Promise<string>, more = ''): Promise<string> {
    const tab = newTab()
    const { url, attempt } = await tab.begin('liar')
    const asked = new URL(url).searchParams
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: liar.issuer,
      aud: CLIENT.id,
      sub: 'mallory',
      nonce: asked.get('nonce'),
      iat: now,
      exp: now + 300,
      groups: ['all'],
      ...change,
    }
    const id_token = await (sign ?? signed)(claims)
    liar.answers.set('/token', (response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token }))
    })
    const back = `${service.url}/console/sign-in/liar/callback?code=c&state=${asked.get('state')}${more}`
    const { headers } = await tab.comeBack(back, attempt)
    assert.equal(tab.cookie !== '', !locationOf(headers).includes('failed'))
    return locationOf(headers)
  }

  const signed = (claims: Claims, { privateKey }: SigningKey = key) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(privateKey)

  test('a valid token signs the person in', async () => {
    assert.equal(await comeBackWith({}), '/')
  })

  const NOW = () => Math.floor(Date.now() / 1000)
  const WRONG: Record<string, () => Claims> = {
    'the nonce of another attempt': () => ({ nonce: 'another' }),
    'no nonce': () => ({ nonce: undefined }),
    'another issuer': () => ({ iss: 'https://evil.example.com' }),
    'another audience': () => ({ aud: 'another-client' }),
    'several audiences and another authorised party': () => ({ aud: [CLIENT.id, 'x'], azp: 'x' }),
    'a token that has expired': () => ({ iat: NOW() - 900, exp: NOW() - 600 }),
    'a token of a time to come': () => ({ nbf: NOW() + 600 }),
    'no subject': () => ({ sub: undefined }),
  }
  for (const [name, change] of Object.entries(WRONG)) {
    test(`${name}: the sign-in is refused`, async () => {
      assert.equal(await comeBackWith(change()), REFUSED)
    })
  }

  test('a clock that is a few seconds off is accepted', async () => {
    assert.equal(await comeBackWith({ iat: NOW() + 10, nbf: NOW() + 10 }), '/')
    assert.equal(await comeBackWith({ exp: NOW() - 10 }), '/')
  })

  test('unexpected formats in the claims about a person do not prevent the sign-in', async () => {
    const odd = {
      name: null,
      preferred_username: 7,
      email: 'no address',
      email_verified: 'perhaps',
      amr: 'otp',
      acr: 1,
    }
    for (const [claim, value] of Object.entries({ ...odd, sid: null })) {
      assert.equal(await comeBackWith({ [claim]: value }), '/', claim)
    }
  })

  test('a token signed with another key, or not at all, is refused', async () => {
    assert.equal(await comeBackWith({}, (claims) => signed(claims, other)), REFUSED)
    assert.equal(await comeBackWith({}, async (claims) => forgeJwt({ alg: 'none' }, claims)), REFUSED)
  })

  test("one provider's answer is not accepted for another", async () => {
    assert.equal(await comeBackWith({}, undefined, `&iss=${encodeURIComponent(honest.url)}`), REFUSED)
    honest.next = 'ada'
    const tab = newTab()
    const { url, attempt } = await tab.begin()
    const back = new URL(await tab.goTo(url))
    back.pathname = '/console/sign-in/liar/callback'
    assert.equal(locationOf((await tab.comeBack(back.href, attempt)).headers), '/#sign-in-failed=expired')
  })

  test('a code can be used only once', async () => {
    honest.next = 'ada'
    const tab = newTab()
    const { url, attempt } = await tab.begin()
    const back = await tab.goTo(url)
    assert.equal(locationOf((await tab.comeBack(back, attempt)).headers), '/')
    const { cookie } = tab
    assert.equal(locationOf((await tab.comeBack(back, attempt)).headers), REFUSED)
    tab.cookie = cookie
    assert.equal(await tab.isIn(), true)
  })

  test('a sign-in can be finished only in the browser that started it', async () => {
    honest.next = 'ada'
    const [victim, thief] = [newTab(), newTab()]
    const begun = await victim.begin()
    const back = await victim.goTo(begun.url)
    const own = await thief.begin()
    assert.equal(locationOf((await thief.comeBack(back, '')).headers), '/#sign-in-failed=expired')
    assert.equal(locationOf((await thief.comeBack(back, own.attempt)).headers), '/#sign-in-failed=expired')
    // The code of one attempt with the state of another: the code verifier does not match.
    const mixed = new URL(back)
    mixed.searchParams.set('state', new URL(own.url).searchParams.get('state') ?? '')
    assert.equal(locationOf((await thief.comeBack(mixed.href, own.attempt)).headers), REFUSED)
    assert.equal(thief.cookie, '')
  })

  test('a sign-in that takes too long has to be started again', async () => {
    honest.next = 'ada'
    const tab = newTab()
    const { url, attempt } = await tab.begin()
    const back = await tab.goTo(url)
    service.advance(11 * 60_000)
    assert.equal(locationOf((await tab.comeBack(back, attempt)).headers), '/#sign-in-failed=expired')
  })

  test('a person who declines at the provider gets a message that says so', async () => {
    assert.equal(await newTab().signInAs(honest, undefined), '/#sign-in-failed=denied')
  })

  test('after the sign-in, the browser can only be sent to this service', async () => {
    for (const to of ['https://evil.example.com', 'javascript:alert(1)', 'agents', '/a b', '/\r\nX: 1']) {
      const { status } = await newTab().ask('POST', '/console/sign-in/corp', { body: { to } })
      assert.equal(status, 400, to)
    }
    for (const to of ['//evil.example.com', '/\\evil.example.com', '/@evil.example.com']) {
      assert.equal(await newTab().signInAs(honest, 'ada', { to }), to, 'behind our own address')
    }
  })

  test("a page of another site can't start a sign-in", async () => {
    const tab = newTab()
    const asked = { body: {}, headers: { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example.com' } }
    assert.equal((await tab.ask('POST', '/console/sign-in/corp', asked)).status, 403)
    assert.equal((await tab.ask('POST', '/console/sign-in/nobody', { body: {} })).status, 404)
  })

  test("neither the provider's replies nor its secrets are logged", async () => {
    assert.equal(await comeBackWith({ aud: 'another-client' }), REFUSED)
    for (const secret of [CLIENT.secret, 'id_token', 'code=', 'eyJ']) assert.ok(!service.log().includes(secret), secret)
  })
})
