import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { consoleUrl, personWindows } from '../../support/console/person-window.ts'
import { type OidcIssuer, startOidcIssuer } from '../../support/outside/oidc-issuer.ts'
import { inProject, type Service } from '../../support/service/service.ts'
import { createAgent } from '../../support/slices/resources.ts'

let issuer: OidcIssuer
const settings = async () => {
  issuer = await startOidcIssuer()
  const roles = [
    { group: 'readers', project: 'default', role: 'viewer' },
    { group: 'shop-devs', project: 'shop', role: 'developer' },
    { group: 'shop-admins', project: 'shop', role: 'admin' },
  ]
  return { MOORAGE_CONSOLE__OIDC: JSON.stringify([issuer.entry({ label: 'Corporate login', roles })]) }
}

/** Who has an account at the provider: their address is their name at example.com. */
function addAccount(name: string, groups: string[] = []): void {
  const email = `${name.toLowerCase()}@example.com`
  issuer.accounts.set(name.toLowerCase(), { name, email, email_verified: true, groups })
}

inConsole(
  'people in the console',
  (visit, service) => {
    const { open, openAs, signIn } = personWindows(visit, service, () => issuer)
    const shop = () => inProject(service(), 'shop')
    before(async () => {
      issuer.serve(consoleUrl(service()))
      addAccount('Ada', ['readers', 'shop-devs'])
      addAccount('Grace', ['shop-admins'])
      addAccount('Edsger')
      await service().call('POST', '/v1/projects', { body: { name: 'shop' } })
      await createAgent(service(), 'pilot')
      await createAgent(shop(), 'clerk')
    })
    after(() => issuer.close())

    test('a person has another role in each project, and the switcher shows what each allows', async () => {
      const { page, expect, leave } = await openAs('ada', '/')
      await page.getByRole('link', { name: 'pilot' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'New agent' }).count(), 0)
      assert.equal(await roleOf(page), 'viewer in default')
      await switchTo(page, 'shop')
      await page.getByRole('link', { name: 'clerk' }).waitFor()
      await page.getByRole('button', { name: 'New agent' }).waitFor()
      assert.equal(await roleOf(page), 'developer in shop')
      await page.reload()
      await page.getByRole('button', { name: 'New agent' }).waitFor()
      await page.goBack()
      await page.getByRole('link', { name: 'pilot' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'New agent' }).count(), 0)

      // A right that ends while the page is open.
      await switchTo(page, 'shop')
      await page.getByRole('link', { name: 'clerk' }).waitFor()
      const { id } = await personNamed(service(), 'Ada')
      await shop().call('PUT', `/v1/people/${id}/role`, { body: { role: 'viewer' } })
      await shop().call('PUT', `/v1/people/${id}/role`, { body: { role: null } })
      expect(/403/)
      await page.getByRole('link', { name: 'Activity' }).click()
      await page.getByText('The project shop is no longer accessible to you. You are now in default.').waitFor()
      await page.getByRole('link', { name: 'pilot' }).waitFor()
      assert.equal(await page.getByRole('combobox', { name: 'Project', exact: true }).count(), 0)
      await leave()
    })

    test('a person is invited with a link that is shown once, and gets the role after signing in', async () => {
      const admin = await visit('/people?project=shop')
      const link = await invite(admin.page, 'edsger@example.com', 'developer')
      await admin.page.getByRole('row', { name: 'edsger@example.com developer in shop pending' }).waitFor()
      await checkAccess(admin.page)

      const stranger = await open('/')
      await stranger.page.goto(link.replace(service().url, consoleUrl(service())))
      await stranger.page.getByRole('heading', { name: 'You are invited' }).waitFor()
      assert.equal(stranger.page.url(), `${consoleUrl(service())}/`)
      await checkAccess(stranger.page)
      await signIn(stranger, 'ada')
      await stranger.page.getByText('The invitation is for another email address').waitFor()
      await stranger.leave()

      const invited = await open(`/${new URL(link).hash}`)
      await signIn(invited, 'edsger')
      await invited.page.getByRole('link', { name: 'clerk' }).waitFor()
      assert.equal(await roleOf(invited.page), 'developer')
      // Who is signed in is asked before another invitation signs in again.
      await invited.page.goto(`${consoleUrl(service())}/?again${new URL(link).hash}`)
      await invited.page.getByText('You are signed in as Edsger.').waitFor()
      await invited.page.getByRole('button', { name: 'Stay signed in' }).click()
      await invited.page.getByRole('link', { name: 'clerk' }).waitFor()
      await invited.leave()

      await admin.page.reload()
      await admin.page.getByRole('row', { name: 'edsger@example.com developer in shop accepted' }).waitFor()
      await invite(admin.page, 'nobody@example.com', 'viewer')
      await admin.page.getByRole('button', { name: 'Revoke the invitation for nobody@example.com' }).click()
      await admin.page.getByText('Invitation for nobody@example.com revoked').waitFor()
      await admin.page.getByRole('row', { name: 'nobody' }).waitFor({ state: 'detached' })
      await admin.leave()
    })

    test('roles are changed and taken away, and a person is removed', async () => {
      const { page, expect, settled, leave } = await visit('/people?project=shop&view=everybody')
      await page.getByRole('row', { name: /Ada .*viewer in default.* groups of Corporate login/ }).waitFor()
      await settled()
      await checkAccess(page)
      await page.getByRole('link', { name: 'Edsger' }).click()
      await page.getByRole('cell', { name: 'set in Moorage' }).waitFor()
      await checkAccess(page)
      await page.getByRole('button', { name: 'Change role' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Role').selectOption('viewer')
      await dialog.getByRole('button', { name: 'Change role' }).click()
      await page.getByText('Edsger is now viewer').waitFor()
      // A role of another project than the one that is open.
      const { id } = await personNamed(service(), 'Edsger')
      await service().call('PUT', `/v1/people/${id}/role`, { body: { role: 'caller' } })
      await page.reload()
      const other = page.getByRole('row', { name: 'caller default' })
      await other.getByRole('button', { name: 'Change role' }).click()
      await dialog.getByLabel('Role').selectOption('approver')
      await dialog.getByRole('button', { name: 'Change role' }).click()
      const changed = page.getByRole('row', { name: 'approver default' })
      await changed.getByRole('button', { name: 'Remove role' }).click()
      await dialog.getByRole('button', { name: 'Remove role' }).click()
      await changed.waitFor({ state: 'detached' })
      assert.deepEqual(
        (await personNamed(service(), 'Edsger')).roles.map(({ role }) => role),
        ['viewer'],
      )
      await page.getByRole('button', { name: 'Give role' }).click()
      await dialog.getByLabel('Role').selectOption('admin')
      await dialog.getByLabel('Where').selectOption('all projects')
      await dialog.getByRole('button', { name: 'Give role' }).click()
      await page.getByRole('row', { name: 'admin all projects' }).waitFor()
      const { roles } = await personNamed(service(), 'Edsger')
      assert.deepEqual(roles.map(({ role }) => role).toSorted(), ['admin', 'viewer'])
      const row = page.getByRole('row', { name: 'viewer shop' })
      await row.getByRole('button', { name: 'Remove role' }).click()
      await dialog.getByRole('button', { name: 'Remove role' }).click()
      await page.getByText('Edsger no longer has the role viewer').waitFor()
      await row.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Remove', exact: true }).click()
      await page.getByRole('button', { name: 'Remove person' }).click()
      await page.getByText('Edsger removed').waitFor()
      await page.getByRole('heading', { name: 'People', exact: true }).waitFor()

      await page.goto(`${service().url}/people/${(await personNamed(service(), 'Ada')).id}?project=default`)
      expect(/409/)
      await page.getByRole('button', { name: 'Remove role' }).click()
      await dialog.getByRole('button', { name: 'Remove role' }).click()
      await page.getByText('This role comes from a group. Remove the person from the group').waitFor()
      await leave()
    })

    test("a project's administrator manages its people, and sees nothing of other projects", async () => {
      await open('/').then(async (window) => {
        await signIn(window, 'edsger')
        await window.page.getByText("You don't have a role yet").waitFor()
        await window.leave()
      })
      const { page, leave } = await openAs('grace', '/people')
      await page.getByRole('row', { name: 'Grace you' }).waitFor()
      assert.equal(await page.getByRole('row').count(), 2)
      assert.equal(await page.getByRole('button', { name: 'Everybody' }).count(), 0)
      await page.getByRole('button', { name: 'Invite' }).click()
      await page.getByLabel('Email address').waitFor()
      assert.equal(await page.getByRole('dialog').getByLabel('Where').count(), 0)
      await page.keyboard.press('Escape')
      await page.getByRole('link', { name: 'Grace' }).click()
      await page.getByRole('button', { name: 'Give role' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Remove', exact: true }).count(), 0)
      await leave()
    })

    test("people create and revoke their own keys, and lists show each key's owner", async () => {
      const own = await openAs('ada', '/', { isStill: true })
      await own.page.getByRole('link', { name: 'My keys' }).click()
      await own.page.getByText('No keys yet').waitFor()
      await checkAccess(own.page)
      await own.page.getByRole('button', { name: 'New key' }).click()
      const dialog = own.page.getByRole('dialog', { name: 'New personal key' })
      await dialog.getByLabel('Name').fill('laptop')
      assert.deepEqual(await dialog.getByRole('checkbox').count(), 1)
      await dialog.getByRole('button', { name: 'Create key' }).click()
      const secret = await own.page.getByLabel('secret', { exact: true }).innerText()
      await own.page.getByLabel("I've stored it").check()
      await own.page.getByRole('button', { name: 'Done' }).click()
      await own.page.getByRole('row', { name: 'laptop active read' }).waitFor()
      // What the key does is Ada's.
      assert.equal((await service().call('POST', '/v1/keys', { key: secret, body: {} })).status, 403)

      const admin = await visit('/keys?project=default')
      await admin.page.getByRole('row', { name: 'laptop Ada active' }).waitFor()
      await admin.page.getByRole('row', { name: 'first admin key you a service active' }).waitFor()
      await admin.go('/system?view=audit&project=default')
      await admin.page
        .getByRole('row', { name: /createKey refused .*Ada with a key/ })
        .first()
        .waitFor()
      await admin.page.getByRole('link', { name: 'Ada' }).first().click()
      await admin.page.getByRole('heading', { name: 'Ada' }).waitFor()
      await admin.go('/system?view=sessions&project=default')
      const session = admin.page.getByRole('row', { name: /^Ada/ })
      await session.first().waitFor()
      await admin.leave()

      await own.page.getByRole('button', { name: 'Revoke' }).click()
      await own.page.getByRole('button', { name: 'Revoke key' }).click()
      await own.page.getByText('Key laptop revoked').waitFor()
      await own.page.getByRole('row', { name: 'laptop revoked read' }).waitFor()
      assert.equal((await service().call('GET', '/v1/keys/self', { key: secret })).status, 401)
      await own.leave()
    })

    test("the last service administrator can't be removed", async () => {
      const { id } = await personNamed(service(), 'Ada')
      await service().call('PUT', `/v1/people/${id}/role`, { body: { role: 'admin', all_projects: true } })
      const { page, expect, leave } = await openAs('ada', '/people?view=everybody')
      const self = await service().call('GET', '/v1/keys/self')
      assert.equal((await service().call('DELETE', `/v1/keys/${self.body.data.id}`)).status, 200)
      await page.getByRole('link', { name: 'Ada' }).click()
      expect(/409/)
      for (const [begin, end] of [
        ['Remove role', 'Remove role'],
        ['Remove', 'Remove person'],
      ] as const) {
        await page.getByRole('button', { name: begin, exact: true }).last().click()
        await page.getByRole('dialog').getByRole('button', { name: end }).click()
        await page.getByText('This is the last service administrator. Add another one first.').waitFor()
        await page.getByRole('button', { name: 'Cancel' }).click()
      }
      await leave()
    })
  },
  { settings },
)

const switchTo = (page: Page, project: string) =>
  page.getByRole('combobox', { name: 'Project', exact: true }).selectOption(project)

/** What the account menu calls the reader's role. */
async function roleOf(page: Page): Promise<string> {
  const button = page.locator('button.account')
  await button.click()
  const role = await page.locator('.account-menu div', { hasText: /^Role/ }).locator('dd').innerText()
  await button.click()
  return role
}

/** Returns the link. */
async function invite(page: Page, email: string, role: string): Promise<string> {
  await page.getByRole('button', { name: 'Invite' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Email address').fill(email)
  await dialog.getByLabel('Role').selectOption(role)
  await dialog.getByRole('button', { name: 'Create link' }).click()
  const link = await dialog.getByLabel('link', { exact: true }).innerText()
  await dialog.getByLabel("I've sent or stored it").check()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.ok(!(await page.content()).includes(link))
  return link
}

async function personNamed(service: Service, name: string): Promise<{ id: string; roles: { role: string }[] }> {
  const { body } = await service.call('GET', '/v1/people')
  return body.data.find((person: { name: string }) => person.name === name)
}
