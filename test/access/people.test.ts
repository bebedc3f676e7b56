import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PersonTab } from '../support/console/person-tab.ts'
import { type OidcIssuer, startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import { ENGINES, inProject, type Service, startService } from '../support/service/service.ts'

for (const engine of ENGINES) {
  describe(`people on ${engine}`, () => {
    let issuer: OidcIssuer
    let service: Service
    const newTab = () => new PersonTab(() => service)

    before(async () => {
      issuer = await startOidcIssuer()
      const oidc = [
        issuer.entry({
          label: 'Corporate login',
          roles: [
            { group: 'ops', project: '*', role: 'admin' },
            { group: 'shop-devs', project: 'shop', role: 'developer' },
            { group: 'readers', project: 'shop', role: 'viewer' },
            { group: 'readers', project: 'default', role: 'viewer' },
          ],
        }),
      ]
      service = await startService(engine, { MOORAGE_CONSOLE__OIDC: JSON.stringify(oidc) })
      issuer.serve(service.url)
      await service.call('POST', '/v1/projects', { body: { name: 'shop' } })
    })
    after(async () => {
      await service.stop()
      await issuer.close()
    })

    test('a person signs in with the identity provider, and has the role of their group', async () => {
      issuer.accounts.set('u-1', { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['shop-devs'] })
      const tab = newTab()
      assert.deepEqual((await tab.session()).issuers, [{ name: 'corp', label: 'Corporate login' }])
      assert.equal(await tab.signInAs(issuer, 'u-1', { to: '/agents?x=1' }), '/agents?x=1')
      const session = await tab.session()
      assert.partialDeepStrictEqual(session, {
        signed_in: true,
        key: null,
        person: { name: 'Ada', email: 'ada@example.com', role: 'developer' },
        permissions: ['read', 'write'],
        reach: 'project',
      })
      const shop = inProject(service, 'shop')
      const { body } = await shop.call('GET', '/v1/people')
      assert.equal(body.pagination.total, 1)
      assert.partialDeepStrictEqual(body.data[0], {
        id: session.person.id,
        name: 'Ada',
        identities: [{ issuer: issuer.url, subject: 'u-1' }],
        roles: [{ role: 'developer', source: 'group:corp' }],
      })
    })
  })
}
