import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { SignJWT } from 'jose'
import { PersonTab } from '../support/console/person-tab.ts'
import { CLIENT } from '../support/outside/oidc-issuer.ts'
import { startToldIssuer, type ToldIssuer } from '../support/outside/told-issuer.ts'
import { ANY_ENGINE, type Service, startService, withService } from '../support/service/service.ts'

const MINUTE = 60_000
const VIEWERS = [{ group: 'all', project: 'default', role: 'viewer' }]
const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout'

for (const engine of ANY_ENGINE) {
  describe(`sessions of people begin and end, on ${engine}`, () => {
    let issuer: ToldIssuer
    let service: Service
    before(async () => {
      issuer = await startToldIssuer()
      issuer.idToken = { sub: 'ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }
      const { issuer: url } = issuer
      Object.assign(issuer.metadata, { end_session_endpoint: `${url}/end`, revocation_endpoint: `${url}/revoke` })
      service = await startService(engine, {
        MOORAGE_CONSOLE__OIDC: JSON.stringify([issuer.entry({ roles: VIEWERS })]),
      })
    })
    after(async () => {
      await service.stop()
      await issuer.close()
    })

    const newTab = () => new PersonTab(() => service)

    test('the session that the browser had before ends, once the provider has vouched for the person', async () => {
      const tab = newTab()
      await tab.signIn(service.admin)
      const { cookie: earlier } = tab
      issuer.idToken = { ...issuer.idToken, sub: 'stranger', groups: [] }
      assert.equal(await issuer.signIn(tab), '/#sign-in-failed=no_role')
      tab.cookie = earlier
      assert.equal(await tab.isIn(), true, 'nobody has signed in instead')

      issuer.idToken = { ...issuer.idToken, sub: 'ada', groups: ['all'] }
      assert.equal(await issuer.signIn(tab), '/')
      assert.equal(await tab.isIn(), true)
      assert.notEqual(tab.cookie, earlier)
      tab.cookie = earlier
      assert.equal(await tab.isIn(), false)
    })

    test('a provider that cannot take its tokens back still signs the browser out', async () => {
      const tab = newTab()
      await issuer.signIn(tab)
      const { body } = await tab.ask('DELETE', '/console/session')
      assert.equal(issuer.seen['/revoke'], 1)
      assert.equal(new URL(body.data.sign_out_url).pathname, '/end')
    })

    const logoutToken = () =>
      new SignJWT({ events: { [LOGOUT]: {} }, jti: randomUUID() })
        .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'logout+jwt' })
        .setIssuer(issuer.issuer)
        .setAudience(CLIENT.id)
        .setSubject('ada')
        .setIssuedAt()
        .sign(issuer.key.privateKey)
    const logout = async (form: Record<string, string>) => {
      const body = new URLSearchParams(form)
      return (await fetch(`${service.url}/console/sign-in/told/logout`, { method: 'POST', body })).status
    }

    test('400 for a logout form that is far larger than a token, because parsing it would block other requests', async () => {
      const tab = newTab()
      await issuer.signIn(tab)
      const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field${i}`, '']))
      const logout_token = await logoutToken()
      assert.equal(await logout({ logout_token, ...many }), 400)
      assert.equal(await tab.isIn(), true)
      assert.equal(await logout({ logout_token }), 200)
      assert.equal(await tab.isIn(), false)
    })

    test('a logout token that is sent again ends no session that began after it', async () => {
      const first = newTab()
      await issuer.signIn(first)
      const logout_token = await logoutToken()
      assert.equal(await logout({ logout_token }), 200)
      assert.equal(await first.isIn(), false)
      service.advance(MINUTE)
      const second = newTab()
      await issuer.signIn(second)
      assert.equal(await logout({ logout_token }), 200)
      assert.equal(await second.isIn(), true)
    })
  })
}

test('503 for a logout token while the provider cannot be asked, and no error of ours', async () => {
  const gone = await startToldIssuer()
  const entry = gone.entry()
  await gone.close()
  await withService(
    'sqlite',
    async (service) => {
      const body = new URLSearchParams({ logout_token: 'a.b.c' })
      const reply = await fetch(`${service.url}/console/sign-in/told/logout`, { method: 'POST', body })
      const { error } = (await reply.json()) as { error: object }
      const message = "The identity provider isn't responding. Try again shortly."
      assert.deepEqual([reply.status, error], [503, { code: 'unavailable', message, retry_after: 5 }])
      assert.equal(reply.headers.get('retry-after'), '5')
      assert.match(service.log(), /"level":"warn".*a logout could not be checked/)
      assert.doesNotMatch(service.log(), /request failed/)
    },
    { MOORAGE_CONSOLE__OIDC: JSON.stringify([entry]) },
  )
})

test('403 for a device where the operator has switched its sign-in off', () =>
  withService(
    'sqlite',
    async (service) => {
      const begun = await service.call('POST', '/console/devices', { key: null, body: {} })
      assert.equal(begun.status, 403, begun.text)
      assert.match(begun.body.error.message, /console\.deviceSignIn/)
      const body = { device: 'd', name: 'laptop' }
      assert.equal((await service.call('POST', '/console/devices/key', { key: null, body })).status, 403)
    },
    {
      MOORAGE_CONSOLE__DEVICE_SIGN_IN: 'false',
      MOORAGE_CONSOLE__OIDC: JSON.stringify([{ name: 'corp', issuer: 'https://id.example.com', clientId: 'moorage' }]),
    },
  ))
