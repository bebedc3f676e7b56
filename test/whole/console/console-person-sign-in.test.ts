import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { consoleUrl, personWindows } from '../../support/console/person-window.ts'
import { startLocalServer } from '../../support/outside/local-server.ts'
import { type OidcIssuer, startOidcIssuer } from '../../support/outside/oidc-issuer.ts'
import { createAgent } from '../../support/slices/resources.ts'

let issuer: OidcIssuer
const settings = async () => {
  issuer = await startOidcIssuer()
  const oidc = [
    issuer.entry({ label: 'Corporate login', roles: [{ group: 'devs', project: 'default', role: 'developer' }] }),
    {
      name: 'old',
      label: 'Old login',
      issuer: await unusedAddress(),
      clientId: 'moorage',
      clientSecret: 'not-used-0123456789',
    },
  ]
  return { MOORAGE_CONSOLE__OIDC: JSON.stringify(oidc) }
}

/** Nothing listens there any more. */
async function unusedAddress(): Promise<string> {
  const server = await startLocalServer(() => {})
  await server.close()
  return server.url
}

inConsole(
  'signing in to the console with an identity provider',
  (visit, service) => {
    const { open, openAs, signIn } = personWindows(visit, service, () => issuer)
    before(async () => {
      issuer.serve(consoleUrl(service()), { backchannel: true })
      issuer.accounts.set('ada', { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['devs'] })
      issuer.accounts.set('eve', { name: 'Eve', email: 'eve@example.com', email_verified: true })
      await createAgent(service(), 'pilot')
    })
    after(() => issuer.close())

    test('a person returns to the requested page, and the menu shows their name and role', async () => {
      const window = await open('/activity?status=failed')
      const { page, leave } = window
      await page.getByText('or with a key').waitFor()
      await checkAccess(page)
      await signIn(window, 'ada')
      await page.getByRole('heading', { name: 'Activity', exact: true }).waitFor()
      assert.equal(page.url(), `${consoleUrl(service())}/activity?status=failed`)
      await page.getByRole('button', { name: 'Ada', exact: true }).click()
      const menu = page.locator('.account-menu')
      assert.match(await menu.innerText(), /Ada\s+Email\s+ada@example.com\s+Role\s+developer/)
      await menu.getByText('Permissions in this project').click()
      assert.deepEqual(await menu.getByRole('listitem').allTextContents(), [
        'invoke send messages to agents',
        'read see agents, invocations, logs, memory',
        'write create and change agents, deploy; includes invoke',
      ])
      await checkAccess(page)
      assert.equal(await page.getByRole('link', { name: 'People' }).count(), 0)
      await leave()
    })

    test('a person who is refused sees why and what to do', async () => {
      const window = await open('/')
      const { page, expect, leave } = window
      const notice = page.locator('.notice')
      await signIn(window, undefined)
      await notice.getByText('Your identity provider denied the sign-in').waitFor()
      assert.equal(page.url(), `${consoleUrl(service())}/`)
      await signIn(window, 'eve')
      await notice.getByText("You don't have a role yet. Ask").waitFor()
      for (const [code, text] of [
        ['expired', 'The sign-in timed out'],
        ['refused', 'response was invalid'],
        ['issuer_unavailable', "isn't responding"],
        ['other_domain', "isn't allowed to sign in here"],
        ['invitation_invalid', 'The invitation is for another email address'],
        ['email_not_verified', 'has not verified your email address'],
        ['something', 'You are not signed in. Try again.'],
      ] as const) {
        await page.goto(`${consoleUrl(service())}/?code=${code}#sign-in-failed=${code}`)
        await notice.getByText(text).waitFor()
        assert.equal(new URL(page.url()).hash, '')
      }

      expect(/503/)
      await page.getByRole('button', { name: 'Sign in with Old login' }).click()
      await page
        .getByText("The identity provider isn't responding. You can still sign in with a key or a link.")
        .waitFor()
      await page.getByLabel('API key', { exact: true }).fill(service().admin)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('link', { name: 'pilot' }).waitFor()
      // Who is signed in already learns of it and continues.
      await page.goto(`${consoleUrl(service())}/?again#sign-in-failed=denied`)
      await page
        .getByRole('status')
        .getByText('You are not signed in. Your identity provider denied the sign-in')
        .waitFor()
      await page.getByRole('link', { name: 'pilot' }).waitFor()
      await leave()
    })

    test('a session that ended at the provider says so, and the person continues on the same page', async () => {
      const window = await openAs('ada', '/agents/pilot/settings?view=yaml')
      const { page, context, expect, leave } = window
      await page.getByRole('heading', { name: 'pilot' }).waitFor()
      await page.getByRole('link', { name: 'Deployments' }).click()
      await page.waitForURL('**/agents/pilot/deployments')
      expect(/401/)
      const elsewhere = await context.newPage()
      await elsewhere.goto(`${issuer.url}/session/end`)
      await elsewhere.getByRole('button', { name: 'Yes' }).click()
      await elsewhere.getByText('You are signed out').waitFor()
      await elsewhere.close()
      // The page asks now and then whether everything is paused, and hears it then.
      await page.getByText('Your session has ended. It might have been ended at your identity provider.').waitFor()
      await signIn(window, 'ada')
      await page.getByRole('heading', { name: 'pilot' }).waitFor()
      assert.equal(new URL(page.url()).pathname, '/agents/pilot/deployments')
      await leave()
    })

    test('signing out ends the session here and at the provider', async () => {
      const sessions = async () => (await service().call('GET', '/v1/console-sessions')).body.pagination.total
      const others = await sessions()
      // On a phone the menu is the only way.
      const window = await openAs('ada', '/', { width: 390 })
      const { page, leave } = window
      assert.equal(await sessions(), others + 1)
      await page.locator('button.account').click()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Yes' }).click()
      await page.getByText('or with a key').waitFor()
      assert.equal(page.url(), `${consoleUrl(service())}/`)
      assert.equal(await sessions(), others)
      // The provider does not know the browser any more: another person can sign in.
      await signIn(window, undefined)
      await page.getByText('Your identity provider denied the sign-in').waitFor()
      await leave()
    })
  },
  { settings },
)

inConsole('the console of a service without an identity provider', (visit, service) => {
  test('does not mention people', async () => {
    await createAgent(service(), 'alone')
    const { page, go, settled, leave } = await visit('/')
    for (const path of ['/', '/keys', '/keys?open=key', '/system', '/system?view=sessions', '/system?view=audit']) {
      await go(path)
      await settled()
      assert.doesNotMatch(await page.locator('body').innerText(), /People|\bperson\b|invit|My keys/, path)
    }
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /paste an ID/ }).fill('invite')
    await page.getByText('Nothing found.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key', { exact: true }).waitFor()
    assert.equal(await page.getByText('or with a key').count(), 0)
    await leave()
  })
})
