import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { asHost, authenticator, enrol } from '../../support/clients/mfa.ts'
import { inConsole } from '../../support/console/console.ts'
import { storeOf } from '../../support/inside.ts'
import { type LocalServer, readBody, startLocalServer } from '../../support/outside/local-server.ts'
import { untilHolds } from '../../support/running/until.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

inConsole(
  'keys and webhooks in the console',
  (visit, service) => {
    let receiver: LocalServer
    let answer = 500
    const received: string[] = []
    before(async () => {
      receiver = await startLocalServer(async (request, response) => {
        received.push(JSON.parse(await readBody(request)).type)
        response.writeHead(answer).end()
      })
    })
    after(() => receiver.close())

    test('a new key is shown once, in a dialog that does not close by accident', async () => {
      const { page, leave } = await visit('/keys')
      await page.getByRole('button', { name: 'New key' }).click()
      await page.getByLabel('Name', { exact: true }).fill('website')
      await page.getByLabel('read').check()
      await page.getByLabel('approve').check()
      const tier = page.getByLabel('Tier', { exact: true })
      assert.equal(await tier.inputValue(), 'pro')
      assert.deepEqual(await tier.locator('option').allTextContents(), [
        'free: 60 requests per minute, bursts of 100',
        'pro: 1,000 requests per minute, bursts of 2,000',
        'enterprise: 10,000 requests per minute, bursts of 20,000',
      ])
      await tier.selectOption('free')
      await page.getByRole('button', { name: 'Create key' }).click()
      const dialog = page.getByRole('dialog', { name: 'website: secret' })
      const secret = await dialog.getByLabel('secret', { exact: true }).innerText()
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await page.mouse.click(5, 5)
      assert.ok(await dialog.isVisible())
      assert.ok(await dialog.getByRole('button', { name: 'Done' }).isDisabled())
      await dialog.getByLabel("I've stored it").check()
      await dialog.getByRole('button', { name: 'Done' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('heading', { name: 'website', exact: true }).waitFor()
      assert.ok(!(await page.content()).includes(secret))
      const { body } = await service().call('GET', '/v1/keys/self', { key: secret })
      assert.deepEqual([body.data.permissions, body.data.tier], [['invoke', 'read', 'approve'], 'free'])
      await page.getByText('free', { exact: true }).waitFor()
      await leave()
    })

    test('role names come from the service; errors are shown at their field, and success in a toast', async () => {
      const { page, leave, expect } = await visit('/keys')
      await page.getByRole('button', { name: 'New key' }).click()
      const dialog = page.getByRole('dialog', { name: 'New key' })
      const role = dialog.getByLabel('Role', { exact: true })
      const offered = ['admin', 'developer', 'viewer', 'caller', 'approver', 'harbour-master', 'none']
      await untilHolds(async () => assert.deepEqual(await role.locator('option').allTextContents(), offered))
      assert.equal(await role.inputValue(), 'caller')
      await role.selectOption('harbour-master')
      for (const [permission, isHeld] of Object.entries({ read: true, manage: true, invoke: false, write: false })) {
        assert.equal(
          await dialog.getByRole('checkbox', { name: new RegExp(`^${permission}`) }).isChecked(),
          isHeld,
          permission,
        )
      }
      await dialog.getByLabel('Name', { exact: true }).fill('harbour')
      expect(/400/)
      await dialog.getByLabel('Agent', { exact: true }).fill('no-such-agent')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      const agent = dialog.getByLabel('Agent', { exact: true })
      await dialog.getByText('no agent with this ID or name exists').waitFor()
      assert.equal(await agent.getAttribute('aria-invalid'), 'true')
      // The error is shown at its field, so it is not repeated at the end of the form.
      assert.equal(await dialog.getByRole('alert').count(), 0)
      await agent.fill('')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('dialog', { name: 'harbour: secret' }).waitFor()
      await leave()
    })

    test('underscores in a placeholder are visible', async () => {
      const { page, leave } = await visit('/keys')
      const shown = async (placeholder: string) => {
        const input = `<input class="mono" aria-label="Secret" placeholder="${placeholder}">`
        await page.evaluate(`document.body.innerHTML = '${input}'`)
        return (await page.getByLabel('Secret').screenshot()).toString('base64')
      }
      assert.notEqual(await shown('____'), await shown(''))
      await leave()
    })

    test('a second factor that was never confirmed can be removed', async () => {
      const admin = await createKey(service(), { name: 'purser', permissions: ['read', 'manage', 'invoke'] })
      const app = await enrol(service(), admin.id)
      const { id } = await createKey(service(), { name: 'half', permissions: ['invoke'] })
      assert.equal((await asHost(service(), 'POST', `/v1/keys/${id}/mfa`)).status, 200)
      const { page, expect, leave } = await visit(`/keys/${id}`, { key: admin.secret })
      const factor = page.getByRole('region', { name: 'Second factor' })
      await factor.getByText('pending', { exact: true }).waitFor()
      expect(/401/)
      await factor.getByRole('button', { name: 'Remove' }).click()
      await page.getByRole('button', { name: 'Remove factor' }).click()
      const code = page.getByRole('dialog', { name: 'One-time code' })
      await code.getByLabel('Code').fill(app.code())
      await code.getByRole('button', { name: 'Continue' }).click()
      await page.getByText('Second factor removed').waitFor()
      await factor.getByText('none', { exact: true }).waitFor()
      // A key cannot remove its own.
      await page.goto(`${service().url}/keys/${admin.id}`)
      await factor.getByText('active', { exact: true }).waitFor()
      assert.equal(await factor.getByRole('button').count(), 0)
      await leave()
    })

    test('a key is rotated, gets a second factor by its QR code, and is revoked', async () => {
      const admin = await createKey(service(), { name: 'boss', permissions: ['read', 'manage', 'invoke'] })
      const app = await enrol(service(), admin.id)
      const { id, secret } = await createKey(service(), { name: 'robot', permissions: ['invoke'] })
      const { page, expect, leave } = await visit(`/keys/${id}`, { key: admin.secret })
      await page.getByRole('button', { name: 'Rotate' }).click()
      await page.getByRole('button', { name: 'Rotate key' }).click()
      const fresh = await page.getByLabel('secret', { exact: true }).innerText()
      assert.notEqual(fresh, secret)
      await page.getByLabel("I've stored it").check()
      await page.getByRole('button', { name: 'Done' }).click()
      assert.equal((await service().call('GET', '/v1/keys/self', { key: fresh })).status, 200)

      // The service asks for a code of the reader's own key first.
      expect(/401/)
      await page.getByRole('button', { name: 'Set up' }).click()
      const code = page.getByRole('dialog', { name: 'One-time code' })
      await code.getByLabel('Code').fill(app.wrong())
      await code.getByRole('button', { name: 'Continue' }).click()
      await code.getByText('This one-time code is wrong or was already used.').waitFor()
      await code.getByLabel('Code').fill(app.code())
      await code.getByRole('button', { name: 'Continue' }).click()
      const setUp = page.getByRole('dialog', { name: 'Set up second factor' })
      await setUp.getByRole('img', { name: 'QR code' }).waitFor()
      const robot = authenticator(service(), await setUp.getByLabel('secret', { exact: true }).innerText())
      await setUp.getByLabel('Code from the app').fill(robot.code())
      await setUp.getByRole('button', { name: 'Confirm' }).click()
      await page.getByRole('region', { name: 'Second factor' }).getByText('active').waitFor()

      await page.getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('button', { name: 'Revoke key' }).click()
      await page.getByText('Key robot revoked').waitFor()
      await page.getByText('revoked', { exact: true }).waitFor()
      assert.equal((await service().call('GET', '/v1/keys/self', { key: fresh })).status, 401)
      await leave()
    })

    test("rotating the user's own key shows its secret until it is saved, even though the session has ended", async () => {
      const own = await createKey(service(), { name: 'own', permissions: ['read', 'manage', 'invoke'] })
      const { page, expect, leave } = await visit('/', { key: own.secret })
      await page.clock.install()
      await page.goto(`${service().url}/keys/${own.id}`)
      expect(/401/)
      /** Now and then the page asks for something by itself, and is refused. */
      const hearOfTheEnd = async () => {
        const refused = page.waitForResponse((response) => response.status() === 401)
        await page.clock.fastForward(30_000)
        await (await refused).finished()
        await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
      }
      await page.route('**/rotate', async (route) => {
        const response = await route.fetch()
        await hearOfTheEnd()
        await route.fulfill({ response })
      })
      await page.getByRole('button', { name: 'Rotate' }).click()
      await page.getByText('You are signed in with this key').waitFor()
      await page.getByRole('button', { name: 'Rotate key' }).click()
      const dialog = page.getByRole('dialog', { name: 'own: new secret' })
      const fresh = await dialog.getByLabel('secret', { exact: true }).innerText()
      await hearOfTheEnd()
      assert.ok(await dialog.isVisible())
      assert.equal((await service().call('GET', '/v1/keys/self', { key: fresh })).status, 200)

      await dialog.getByLabel("I've stored it").check()
      await dialog.getByRole('button', { name: 'Done' }).click()
      await page.getByText('Your session has ended').waitFor()
      assert.ok(!(await page.content()).includes(fresh))
      await page.getByLabel('API key', { exact: true }).fill(fresh)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'own', exact: true }).waitFor()
      await leave()
    })

    test('a webhook is created, tested, fails, and its failed deliveries are redelivered', async () => {
      await service().call('POST', '/v1/agents', { body: { name: 'bell' } })
      const { page, leave, expect } = await visit('/webhooks', { isHurried: true })
      await page.getByRole('button', { name: 'New webhook' }).click()
      await page.getByLabel('Endpoint URL').fill(`${receiver.url}/hook`)
      await page.getByRole('button', { name: 'Create webhook' }).click()
      await page.getByLabel("I've stored it").check()
      await page.getByRole('button', { name: 'Done' }).click()
      await page.getByRole('button', { name: 'Edit' }).click()
      const edit = page.getByRole('dialog', { name: 'Edit webhook' })
      assert.equal(await edit.getByLabel('Endpoint URL').inputValue(), `${receiver.url}/hook`)
      await edit.getByLabel('Endpoint URL').fill('gopher://example.com')
      expect(/400/)
      await edit.getByRole('button', { name: 'Save' }).click()
      await edit.locator('.field .wrong').waitFor()
      await edit.getByLabel('Endpoint URL').fill(`${receiver.url}/edited`)
      await edit.getByLabel('agent.waiting').check()
      await edit.getByLabel('Description', { exact: true }).fill('rings the bell')
      await edit.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Webhook updated').waitFor()
      await page.getByText('agent.completed, agent.failed, agent.waiting').waitFor()
      const { url, description } = (await service().call('GET', '/v1/webhooks')).body.data[0]
      assert.deepEqual([url, description], [`${receiver.url}/edited`, 'rings the bell'])
      await page.getByRole('button', { name: 'Send test event' }).click()
      await page.getByText('Test event not delivered: 500').waitFor()

      await service().call('POST', '/v1/agents/bell/invoke', { body: { message: 'ring' } })
      await page.reload()
      await page.getByRole('link', { name: 'agent.completed' }).click()
      await page.getByRole('heading', { name: 'agent.completed' }).waitFor()
      await page.getByRole('cell', { name: '500', exact: true }).first().waitFor()
      assert.match(await page.getByLabel('body', { exact: true }).innerText(), /"type": "agent.completed"/)
      answer = 200
      await storeOf(service()).updateTable('deliveries').set({ status: 'failed', next_attempt_at: null }).execute()
      await page.getByRole('button', { name: 'Redeliver' }).click()
      await page.getByText('delivered', { exact: true }).first().waitFor()
      assert.equal(received.at(-1), 'agent.completed')

      await page.goBack()
      // The way back is offered for a few seconds only.
      await page.getByRole('button', { name: 'Disable' }).click()
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('Webhook enabled').waitFor()
      await page.getByText('healthy').waitFor()
      await page.getByRole('button', { name: 'Rotate secret' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click()
      await page.getByLabel("I've stored it").check()
      await page.getByRole('button', { name: 'Done' }).click()
      await page.getByText('the old secret stops signing').waitFor()
      // The page may ask once more for what it is about to leave.
      expect(/status of 404 .*\/deliveries/)
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('button', { name: 'Delete webhook' }).click()
      await page.getByText('No webhooks yet').waitFor()
      await leave()
    })

    test('a long list has pages, and sorting starts at the first one', async () => {
      for (let i = 10; i < 40; i++) await createKey(service(), { name: `paged ${i}`, role: 'viewer' })
      const { page, leave } = await visit('/keys')
      const pages = page.getByRole('navigation', { name: 'Pages' })
      await pages.getByText('1–25 of').waitFor()
      await page.getByRole('button', { name: 'Next page' }).click()
      await pages.getByText(/^26–\d+ of/).waitFor()
      assert.match(page.url(), /offset=25/)
      await page.getByRole('columnheader', { name: 'Key' }).getByRole('button').click()
      await pages.getByText('1–25 of').waitFor()
      assert.doesNotMatch(page.url(), /offset/)
      await leave()
    })

    test('keys and webhooks show the names of their agent and creator, not IDs', async () => {
      const agent_id = await createAgent(service(), 'lookout')
      const { id } = await createKey(service(), { name: 'of the lookout', role: 'viewer', agent_id })
      const url = `${receiver.url}/named`
      const { body } = await service().call('POST', '/v1/webhooks', { body: { url, events: ['*'], agent_id } })
      const { page, go, leave } = await visit(`/keys/${id}`)
      await page.getByRole('link', { name: 'lookout', exact: true }).waitFor()
      await page.getByRole('link', { name: 'first admin key' }).waitFor()
      await go(`/webhooks/${body.data.id}`)
      await page.getByRole('link', { name: 'lookout', exact: true }).waitFor()
      assert.ok(!(await page.locator('main').innerText()).includes(agent_id))
      await leave()
    })

    test("a read-only key sees webhooks and can't change anything", async () => {
      const viewer = await createKey(service(), { name: 'viewer', permissions: ['read'] })
      const { body } = await service().call('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['*'] } })
      const { page, go, settled, leave } = await visit(`/webhooks/${body.data.id}`, { key: viewer.secret })
      await page.getByText('healthy').waitFor()
      for (const name of ['Send test event', 'Disable', 'Rotate secret', 'Delete']) {
        assert.equal(await page.getByRole('button', { name }).count(), 0, name)
      }
      assert.equal(await page.getByRole('link', { name: 'Keys' }).count(), 0)
      // The URL of a form that another user has sent.
      await go('/webhooks?open=webhook')
      await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
      await settled()
      assert.equal(await page.getByRole('dialog').count(), 0)
      await leave()
    })
  },
  {
    settings: {
      MOORAGE_WEBHOOKS__ALLOW_INSECURE: 'true',
      MOORAGE_WEBHOOKS__ALLOWED_CIDRS: '127.0.0.1',
      MOORAGE_ROLES: '{"harbour-master":["read","manage"]}',
    },
  },
)
