import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { type LocalServer, startLocalServer } from '../../support/outside/local-server.ts'
import { authorizeUrl, callMcp, exchange, signInSettings } from '../../support/slices/applications.ts'
import { createAgent } from '../../support/slices/resources.ts'

inConsole(
  'connected applications',
  (visit, service) => {
    let client: LocalServer
    let site: string
    let link = ''
    before(async () => {
      client = await startLocalServer((request, response) => {
        if (request.url !== '/client.json') {
          response.setHeader('Content-Type', 'text/html')
          return void response.end(`<title>client</title><a href="${link.replaceAll('&', '&amp;')}">Connect</a>`)
        }
        const document = { client_id: `${client.url}/client.json`, client_name: 'Harbour Chat' }
        response.setHeader('Content-Type', 'application/json')
        response.end(JSON.stringify({ ...document, redirect_uris: [`${site}/callback`] }))
      })
      // The service is at 127.0.0.1, so for the browser this is another site.
      site = client.url.replace('127.0.0.1', 'localhost')
      await createAgent(service(), 'harbour')
    })
    after(() => client.close())

    const ask = () => {
      const asked = authorizeUrl(service(), `${client.url}/client.json`, { redirect_uri: `${site}/callback` })
      link = asked.url
      return asked
    }

    test('a browser that is signed in comes from the client, allows it and goes back; the console revokes it', async () => {
      const window = await visit('/applications')
      const { page, context } = window
      window.expect(/localhost/)
      await page.getByText('No connected applications yet').waitFor()
      const asked = ask()
      const tab = await context.newPage()
      await tab.goto(`${site}/start`)
      await tab.getByRole('link', { name: 'Connect' }).click()
      await tab.getByRole('heading', { name: 'Connect Harbour Chat?' }).waitFor()
      await checkAccess(tab)
      await tab.getByRole('button', { name: 'Allow' }).click()
      await tab.waitForURL(/\/callback\?code=/)
      const code = new URL(tab.url()).searchParams.get('code') ?? ''
      const given = await exchange(service(), asked, code, { redirect_uri: `${site}/callback` })
      assert.equal((await callMcp(service(), given.access_token)).status, 200)

      await page.reload()
      const row = page.getByRole('row', { name: /Harbour Chat/ })
      await row.getByText(client.host).waitFor()
      await checkAccess(page)
      await row.getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke application' }).click()
      await page.getByText('Application Harbour Chat revoked').waitFor()
      await page.getByText('No connected applications yet').waitFor()
      assert.equal((await callMcp(service(), given.access_token)).status, 401)
      await window.leave()
    })

    test('a browser that is not signed in signs in first, and can decline', async () => {
      const window = await visit('/', { key: null })
      const { page } = window
      window.expect(/localhost/)
      ask()
      await page.goto(`${site}/start`)
      await page.getByRole('link', { name: 'Connect' }).click()
      await page.getByLabel('API key').fill('mrg_wrong')
      await checkAccess(page)
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
      await page.getByLabel('API key').fill(service().admin)
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Deny' }).click()
      await page.waitForURL(/\/callback\?error=access_denied/)
      window.expect(/401/)
      await window.leave()
    })
  },
  { settings: async () => (await signInSettings()).settings },
)
