import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PersonTab, signInDevice } from '../support/console/person-tab.ts'
import { storeOf, wakeJobs } from '../support/inside.ts'
import { type Account, startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { issuerOf, withIssuers } from '../support/service/with-issuers.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const ada: Account = { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }
const DEVELOPERS = [{ group: 'all', project: 'default', role: 'developer' }]

const statusOf = async (service: Service, key: string) => (await service.call('GET', '/v1/keys/self', { key })).status

/** A service asks the providers when it starts, and from then on twice a minute. When it stops it waits for the answers. */
const askedAfter = async (service: Service, ms: number) => {
  service.advance(ms)
  await service.restart()
  await service.restart()
}

for (const engine of ANY_ENGINE) {
  describe(`personal keys of people whose roles come from groups, on ${engine}`, () => {
    test('a command-line key stops working within ten minutes after the group is removed, without any browser session', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      issuer.next = 'ada'
      await withIssuers(engine, [{ issuer, entry: { roles: DEVELOPERS } }], async (service) => {
        const { secret } = await signInDevice(service, 'laptop')
        assert.deepEqual((await service.call('GET', '/v1/console-sessions')).body.data, [], 'no browser is signed in')
        issuer.asked.length = 0
        await askedAfter(service, 6 * DAY)
        assert.ok(issuer.asked.includes('POST /token'))
        assert.equal(await statusOf(service, secret), 200)

        issuer.accounts.set('ada', { ...ada, groups: [] })
        issuer.isDown = true
        await askedAfter(service, 6 * MINUTE)
        assert.match(service.log(), /did not confirm a session/)
        assert.equal(await statusOf(service, secret), 200, 'keys go on while the provider is away')
        issuer.isDown = false
        await askedAfter(service, 3 * MINUTE)
        assert.equal(await statusOf(service, secret), 401)
      })
    })

    test('a console key does too, whether the browser has signed out or was not used', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      issuer.accounts.set('bea', { ...ada, name: 'Bea', email: 'bea@example.com' })
      await withIssuers(engine, [{ issuer, entry: { roles: DEVELOPERS } }], async (service) => {
        const keyOf = async (subject: string) => {
          const tab = new PersonTab(() => service)
          await tab.signInAs(issuer, subject)
          const made = await tab.ask('POST', '/v1/personal-keys', { body: { name: 'laptop', role: 'viewer' } })
          return { tab, secret: made.body.data.secret as string }
        }
        const [left, closed] = [await keyOf('ada'), await keyOf('bea')]
        const { session_id } = await left.tab.session()
        assert.equal((await left.tab.ask('DELETE', '/console/session')).status, 200)
        assert.equal(await left.tab.isIn(), false)
        assert.equal((await service.call('DELETE', `/v1/console-sessions/${session_id}`)).status, 404)
        assert.ok(!issuer.asked.includes('POST /token/revocation'), 'the key needs what the provider gave')
        wakeJobs(service)
        await askedAfter(service, 6 * DAY)
        wakeJobs(service)
        assert.equal(await closed.tab.isIn(), false)
        for (const { secret } of [left, closed]) assert.equal(await statusOf(service, secret), 200)

        for (const subject of ['ada', 'bea']) {
          issuer.accounts.set(subject, { ...issuer.accounts.get(subject), groups: [] })
        }
        await askedAfter(service, 9 * MINUTE)
        for (const { secret } of [left, closed]) {
          assert.equal(await statusOf(service, secret), 401)
        }
        await until('what no key needs is swept', async () => {
          service.advance(60 * MINUTE)
          wakeJobs(service)
          const rows = await storeOf(service).selectFrom('console_sessions').select('id').execute()
          return rows.length === 0
        })
      })
    })

    test("a session keeps the role that its own provider gives, and not that of the person's other provider", async (t) => {
      const [corp, partner] = [await issuerOf(t), await issuerOf(t, { name: 'partner' })]
      corp.accounts.set('1', ada)
      partner.accounts.set('1', ada)
      const issuers = [
        { issuer: corp, entry: { roles: [{ group: 'all', project: '*', role: 'admin' }, ...DEVELOPERS] } },
        {
          issuer: partner,
          entry: { roles: [{ group: 'all', project: 'default', role: 'viewer' }] },
        },
      ]
      const story = async (service: Service) => {
        const [atCorp, atPartner] = [new PersonTab(() => service), new PersonTab(() => service)]
        const roleOf = async () => (await atPartner.session()).person?.role
        await atCorp.signInAs(corp, '1')
        assert.equal(await atPartner.signInAs(partner, '1', {}, 'partner'), '/')
        assert.equal((await atPartner.session()).person.id, (await atCorp.session()).person.id)
        assert.equal(await roleOf(), 'admin', 'the first provider is asked too')
        assert.equal((await atCorp.ask('DELETE', '/console/session')).status, 200)
        service.advance(11 * MINUTE)
        assert.equal(await roleOf(), 'viewer', 'it is not asked any more')
        assert.equal((await atPartner.ask('POST', '/v1/projects', { body: { name: 'more' } })).status, 403)
        partner.accounts.set('1', { ...ada, groups: [] })
        service.advance(11 * MINUTE)
        assert.equal(await atPartner.isIn(), false)
      }
      await withIssuers(engine, issuers, story, { MOORAGE_CONSOLE__LINK_VERIFIED_EMAILS: 'true' })
    })
  })
}

test('a key whose provider returns no refresh token works for `keepRoles`', async () => {
  const issuer = await startOidcIssuer({ refresh: false })
  issuer.accounts.set('ada', ada)
  issuer.next = 'ada'
  await withIssuers('sqlite', [{ issuer, entry: { roles: DEVELOPERS, keepRoles: '2d' } }], async (service) => {
    const { secret } = await signInDevice(service, 'laptop')
    issuer.accounts.set('ada', { ...ada, groups: [] })
    service.advance(DAY)
    assert.equal(await statusOf(service, secret), 200)
    await until('the role has ended, and the key with it', async () => {
      service.advance(2 * DAY)
      wakeJobs(service)
      return (await statusOf(service, secret)) === 401
    })
  })
  await issuer.close()
})
