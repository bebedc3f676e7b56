import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import {
  type AuthorizationServer,
  CONFIDENTIAL,
  startAuthorizationServer,
} from '../../support/outside/authorization-server.ts'
import { type McpServer, startMcpServer } from '../../support/outside/mcp-server.ts'
import { newAgent } from '../../support/service/agents.ts'
import { startWaiting, untilStatus } from '../../support/slices/approvals.ts'
import { Browser, CONNECTED } from '../../support/slices/connections.ts'

inConsole(
  'connections in the console',
  (visit, service) => {
    let server: AuthorizationServer
    let notes: McpServer
    before(async () => {
      server = await startAuthorizationServer()
      notes = await startMcpServer(
        [{ name: 'whoami', call: (_args, headers) => `notes of ${server.userOf(headers.authorization)}` }],
        {
          challenge: ({ authorization }) =>
            server.userOf(authorization) === undefined ? `Bearer resource_metadata="${server.url}/notes"` : undefined,
        },
      )
      server.resources.set('/notes', {
        resource: notes.url,
        authorization_servers: [server.url],
        scopes_supported: ['notes.read'],
      })
    })
    after(() => Promise.all([server.close(), notes.close()]))

    test('an MCP server is pasted and tested; its user signs in for a run that waits; the sign-in is ended', async () => {
      const { page, expect, leave } = await visit('/connections?view=sign-ins')
      expect(/409/)
      await page.getByText('No sign-ins yet').waitFor()
      await page.getByRole('button', { name: 'New connection' }).click()
      const form = page.getByRole('dialog', { name: 'New connection' })
      await form.getByLabel('URL', { exact: true }).fill('https://notes.example.com/mcp')
      assert.equal(await form.getByLabel('Name').inputValue(), 'notes')
      await form.getByLabel('URL', { exact: true }).fill(notes.url)
      await form.getByLabel('Name').fill('notes')
      await form.getByRole('button', { name: 'Save and test' }).click()
      await page.getByRole('heading', { name: 'notes' }).waitFor()
      await page.getByText('No one has signed in yet').waitFor()
      await page.getByRole('button', { name: 'Test' }).click()
      const result = page.getByRole('status', { name: 'Test result' })
      await result.getByText('the service has registered itself').waitFor()
      await result.getByText('notes.read').waitFor()

      const agent = await newAgent(service(), {
        model: 'builtin/script',
        tools: [{ type: 'mcp', url: notes.url, connection: 'notes' }],
        script: { rules: [{ call: { tool: 'connect_notes', arguments: {} }, reply: '{{result}}' }] },
      })
      const { path } = await startWaiting(service(), agent, 'connect', { user_id: 'ann' })
      await page
        .getByRole('link', { name: /Approvals/ })
        .first()
        .click()
      const card = page.getByRole('article', { name: 'Sign-in to notes' })
      await card.getByText('ann has signed in with this link', { exact: false }).waitFor()
      const confirm = card.getByRole('button', { name: 'Confirm sign-in' })
      await confirm.click()
      await card.getByText("hasn't signed in with this link yet", { exact: false }).waitFor()
      server.next = 'ann'
      const link = await card.getByLabel('sign-in link', { exact: true }).innerText()
      assert.equal((await new Browser(service).signIn(link)).status, 200)
      await confirm.click()
      await page.getByText('Sign-in confirmed', { exact: false }).waitFor()
      assert.match((await untilStatus(service(), path, 'completed')).response, /signed in to notes/)

      await page.goto(`${service().url}/connections/notes`)
      const signedIn = page.getByRole('region', { name: 'Signed in' }).first()
      await signedIn.getByRole('table').getByText('active').waitFor()
      await signedIn.getByRole('button', { name: 'End the sign-in of ann' }).click()
      await page.getByRole('button', { name: 'End sign-in', exact: true }).click()
      await signedIn.getByRole('table').getByText('revoked').first().waitFor()
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('button', { name: 'Delete connection' }).click()
      await page.getByText('No sign-ins yet').waitFor()
      await leave()
    })

    test("another provider's client is checked, changed, and signed in for the project", async () => {
      const { page, leave } = await visit('/connections?view=sign-ins&open=new')
      const form = page.getByRole('dialog')
      await form.getByText('OAuth 2.0 provider').click()
      await form.getByLabel('Issuer URL').fill(server.url)
      await form.getByLabel('Client ID', { exact: true }).fill(CONFIDENTIAL.id)
      await form.getByLabel('Client secret').fill('a wrong one')
      await form.getByLabel('Hosts').fill(`${server.url}/whoami`)
      await form.getByLabel('Name').fill('desk')
      await form.getByLabel('Who signs in').selectOption('service')
      await form.getByRole('button', { name: 'Save and test' }).click()
      await form.getByText('Check the client ID and its secret', { exact: false }).waitFor()
      await form.getByLabel('Client secret').fill(CONFIDENTIAL.secret)
      await form.getByRole('button', { name: 'Save and test' }).click()
      await page.getByRole('heading', { name: 'desk' }).waitFor()
      const { body } = await service().call('GET', '/v1/connections/desk')
      assert.deepEqual([body.data.hosts, body.data.as], [[server.host], 'service'])
      assert.equal(await page.getByLabel('redirect URI', { exact: true }).innerText(), body.data.redirect_uri)

      await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByLabel('Scopes').fill('read write')
      await page.getByRole('button', { name: 'Save and test' }).click()
      await page.getByText('read write', { exact: true }).waitFor()

      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('button', { name: 'Create link' }).click()
      const link = await page.getByLabel('sign-in link', { exact: true }).innerText()
      server.next = 'the-bot'
      assert.equal((await new Browser(service).signIn(link)).status, 200)
      await page.getByRole('button', { name: 'Confirm sign-in' }).click()
      await page.getByRole('region', { name: 'Signed in' }).first().getByText('the project').waitFor()
      await leave()
    })
  },
  { settings: CONNECTED },
)
