import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { PersonTab } from '../../support/console/person-tab.ts'
import { type OidcIssuer, startOidcIssuer } from '../../support/outside/oidc-issuer.ts'

let issuer: OidcIssuer

inConsole(
  'people without a role in the project, and their keys, in the console',
  (visit, service) => {
    let ada: string
    before(async () => {
      issuer.serve(service().url)
      for (const name of ['Ada', 'Grace']) {
        const email = `${name.toLowerCase()}@example.com`
        issuer.accounts.set(name.toLowerCase(), { name, email, email_verified: true, groups: ['readers'] })
      }
      assert.equal((await service().call('POST', '/v1/projects', { body: { name: 'shop' } })).status, 201)
      for (const subject of ['ada', 'grace']) {
        const tab = new PersonTab(service)
        await tab.signInAs(issuer, subject)
        if (subject !== 'ada') continue
        for (const name of ['laptop', 'old phone']) {
          const made = await tab.ask('POST', '/v1/personal-keys', { body: { name, role: 'viewer' } })
          assert.equal(made.status, 201, made.text)
          if (name === 'old phone') await service().call('DELETE', `/v1/keys/${made.body.data.id}`)
        }
      }
      const { body } = await service().call('GET', '/v1/people?email=ada@example.com')
      ada = body.data[0].id
    })
    after(() => issuer.close())

    for (const width of [1440, 390]) {
      test(`an empty project leads to everybody, and says how many they are, at ${width} px`, async () => {
        const { page, settled, leave } = await visit('/people?project=shop', { width, isStill: true })
        await page.getByRole('heading', { name: 'No one has a role in shop' }).waitFor()
        const all = page.getByRole('button', { name: 'Show everybody (2)' })
        await all.waitFor()
        await settled()
        await checkAccess(page)
        await all.click()
        await page.getByRole('row', { name: 'Grace' }).waitFor()
        assert.equal(new URL(page.url()).searchParams.get('view'), 'everybody')
        await leave()
      })

      test(`the page of a person lists their active keys, at ${width} px`, async () => {
        const { page, go, settled, leave } = await visit(`/people/${ada}?project=default`, { width, isStill: true })
        const keys = page.getByRole('region', { name: 'Keys', exact: true }).first()
        await keys.getByRole('row', { name: 'laptop default' }).waitFor()
        assert.equal(await keys.getByRole('row', { name: 'old phone' }).count(), 0)
        await settled()
        const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        assert.ok(Number(await page.evaluate(overflow)) <= 0)
        await checkAccess(page)
        await keys.getByRole('link', { name: 'laptop' }).click()
        await page.getByRole('heading', { name: 'laptop' }).waitFor()
        await go(`/people/${ada}?project=shop`)
        await page.getByText('No active keys in shop').waitFor()
        await leave()
      })
    }
  },
  {
    settings: async () => {
      issuer = await startOidcIssuer()
      const roles = [{ group: 'readers', project: 'default', role: 'viewer' }]
      return { MOORAGE_CONSOLE__OIDC: JSON.stringify([issuer.entry({ label: 'Corporate login', roles })]) }
    },
  },
)
