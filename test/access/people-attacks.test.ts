import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { PersonTab } from '../support/console/person-tab.ts'
import { type Account, type OidcIssuer, startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import { ENGINES } from '../support/service/service.ts'
import { withIssuers } from '../support/service/with-issuers.ts'

const DAY = 24 * 3_600_000
const ada: Account = { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }

/** An identity provider that lasts as long as the test, whatever comes of it. */
async function issuerOf(t: TestContext, options: { name?: string } = {}): Promise<OidcIssuer> {
  const issuer = await startOidcIssuer(options)
  t.after(() => issuer.close())
  return issuer
}

for (const engine of ENGINES) {
  test(`one provider does not keep the roles that another one gives, on ${engine}`, async (t) => {
    const [corp, partner] = [await issuerOf(t), await issuerOf(t, { name: 'partner' })]
    corp.accounts.set('1', ada)
    partner.accounts.set('1', { ...ada, groups: [] })
    const issuers = [
      { issuer: corp, entry: { roles: [{ group: 'all', project: 'default', role: 'developer' }] } },
      { issuer: partner, entry: {} },
    ]
    await withIssuers(
      engine,
      issuers,
      async (service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(corp, '1')
        const { body } = await tab.ask('POST', '/v1/personal-keys', { body: { name: 'laptop', role: 'viewer' } })
        const whether = async () => (await service.call('GET', '/v1/agents', { key: body.data.secret })).status
        await tab.ask('DELETE', '/console/session')
        for (const days of [3, 3]) {
          service.advance(days * DAY)
          assert.equal(await new PersonTab(() => service).signInAs(partner, '1', {}, 'partner'), '/')
          service.app.jobs.wake()
          assert.equal(await whether(), 200)
        }
        service.advance(2 * DAY)
        service.app.jobs.wake()
        await until('the role has ended, and the key with it', async () => (await whether()) === 401)
      },
      { MOORAGE_CONSOLE__LINK_VERIFIED_EMAILS: 'true' },
    )
  })
}
