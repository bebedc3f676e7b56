import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { storeOf } from '../../support/inside.ts'
import { type LocalServer, startLocalServer } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { startWaiting } from '../../support/slices/approvals.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

/** Types `b` at the moment at which the `a` that was typed before is written into the URL. */
const TYPE_WHILE_APPLIED = `{
  const write = history.replaceState.bind(history)
  history.replaceState = (data, title, url) => {
    write(data, title, url)
    if (!/user=a$/.test(String(url))) return
    setTimeout(() => {
      const field = document.querySelector('[aria-label="User ID"]')
      field.value = 'ab'
      field.dispatchEvent(new InputEvent('input', { bubbles: true }))
    })
  }
}`

inConsole(
  'lists in the console',
  (visit, service) => {
    let receiver: LocalServer
    let webhook: string
    before(async () => {
      receiver = await startLocalServer(async (_request, response) => void response.end())
      await createAgent(service(), 'bell')
      const body = { url: receiver.url, events: ['agent.completed'] }
      webhook = (await service().call('POST', '/v1/webhooks', { body })).body.data.id
      for (let i = 0; i < 3; i++) await service().call('POST', '/v1/agents/bell/invoke', { body: { message: `${i}` } })
      await until('everything is delivered', async () => {
        const { body: list } = await service().call('GET', `/v1/webhooks/${webhook}/deliveries?status=delivered`)
        return list.pagination.total === 3
      })
    })
    after(() => receiver.close())

    test('webhooks and schedules show the key that created them', async () => {
      const { secret: key } = await createKey(service(), { name: 'the bosun', role: 'admin' })
      const { body } = await service().call('POST', '/v1/webhooks', {
        key,
        body: { url: receiver.url, events: ['agent.failed'] },
      })
      const every = { name: 'rounds', message: 'All well?', every: '1h' }
      const made = await service().call('POST', '/v1/agents/bell/schedules', { key, body: every })
      assert.equal(made.status, 201, made.text)
      const { page, leave } = await visit(`/webhooks/${body.data.id}`)
      await page.getByRole('link', { name: 'the bosun' }).waitFor()
      await page.goto(`${service().url}/agents/bell/schedules`)
      await page
        .getByRole('button', { name: 'rounds' })
        .or(page.getByRole('link', { name: 'rounds' }))
        .first()
        .click()
      await page.getByRole('dialog').getByRole('link', { name: 'the bosun' }).waitFor()
      await leave()
      await service().call('DELETE', `/v1/webhooks/${body.data.id}`)
    })

    test('an empty list says that a filter is set, and offers to clear it', async () => {
      const { page, leave } = await visit(`/webhooks/${webhook}?status=failed`)
      await page.getByText('Nothing matches the filters.').waitFor()
      await page.getByRole('button', { name: 'Clear filters' }).click()
      await page.getByRole('link', { name: 'agent.completed' }).first().waitFor()

      const tools = [{ type: 'ask_person' }]
      const call = { tool: 'ask_person', arguments: { question: 'Which berth?' } }
      await createAgent(service(), 'bosun', { model: 'builtin/script', tools, script: { rules: [{ call }] } })
      await startWaiting(service(), 'bosun', 'Where to?')
      await page.goto(`${service().url}/approvals?kind=tool`)
      await page.getByText('Nothing matches the filters.').waitFor()
      await page.getByRole('button', { name: 'Clear filters' }).click()
      await page.getByText('Which berth?').waitFor()
      await leave()
    })

    test('failed deliveries are redelivered once each, even if one of them is refused', async () => {
      const db = storeOf(service())
      await db.updateTable('deliveries').set({ status: 'failed', next_attempt_at: null }).execute()
      const { page, expect, settled, leave } = await visit(`/webhooks/${webhook}`, { isStill: true })
      await settled()
      const sent: string[] = []
      expect(/409/)
      // The second one is refused the first time.
      await page.route('**/redeliver', async (route) => {
        const id = new URL(route.request().url()).pathname.split('/').at(-2) ?? ''
        sent.push(id)
        if (sent.length !== 2) return route.continue()
        const error = { code: 'conflict', message: 'not now' }
        await route.fulfill({ status: 409, contentType: 'application/json', body: JSON.stringify({ error }) })
      })
      await page.getByRole('button', { name: 'Send 3 failed deliveries again' }).click()
      await page.getByText('2 deliveries sent again').waitFor()
      await page.getByRole('button', { name: 'Send 1 failed delivery again' }).click()
      await page.getByText('1 delivery sent again').waitFor()
      assert.equal(new Set(sent).size, 3)
      assert.equal(sent.filter((id) => id === sent[0]).length, 1)
      await leave()
    })

    test('typing continues while a filter is being applied', async () => {
      const { page, settled, leave } = await visit('/activity')
      await settled()
      await page.evaluate(TYPE_WHILE_APPLIED)
      const field = page.getByLabel('User ID')
      await field.pressSequentially('a')
      await page.waitForURL(/user=ab$/)
      assert.equal(await field.inputValue(), 'ab')
      await leave()
    })

    test('sessions with the same ID are listed separately for each user', async () => {
      for (const user_id of ['ada', 'bob']) {
        const body = { message: `I am ${user_id}`, context: { user_id, session_id: 'same' } }
        await service().call('POST', '/v1/agents/bell/invoke', { body })
      }
      const { page, settled, leave } = await visit('/agents/bell/memory?view=sessions')
      await page.getByRole('row', { name: /ada/ }).getByRole('link', { name: 'same' }).click()
      await page.getByRole('button', { name: 'I am ada' }).first().waitFor()
      await settled()
      assert.equal(await page.getByRole('button', { name: 'I am bob' }).count(), 0)
      await leave()
    })

    test('a deleted project is not in the switcher', async () => {
      await service().call('POST', '/v1/projects', { body: { name: 'reef' } })
      await service().call('POST', '/v1/projects', { body: { name: 'shoal' } })
      const { page, settled, leave } = await visit('/projects')
      await settled()
      await page.getByRole('button', { name: 'Project', exact: true }).click()
      await settled()
      await page.getByRole('button', { name: 'Delete reef' }).click()
      await page.getByRole('dialog').getByLabel('Type reef').fill('reef')
      await page.getByRole('dialog').getByRole('button', { name: 'Delete project' }).click()
      await page.getByText('Project reef deleted').waitFor()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await settled()
      const offered = () => page.locator('select.project-switch option').allInnerTexts()
      assert.ok(!(await offered()).includes('reef'))
      await page.goBack()
      await settled()
      assert.ok(!(await offered()).includes('reef'))
      await leave()
    })

    test("rows that do not match a filter are hidden, even if the filtered ones can't be loaded", async () => {
      const url = 'https://example.com/hooks'
      await service().call('POST', '/v1/webhooks', { body: { url, events: ['*'] } })
      await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'Ahoy' } })
      const { page, expect, settled, go, leave } = await visit('/webhooks')
      await page.getByRole('link', { name: url }).waitFor()
      expect(/409/)
      const error = { code: 'conflict', message: 'not now' }
      const refusal = { status: 409, contentType: 'application/json', body: JSON.stringify({ success: false, error }) }
      await page.route(/(status=(disabled|failed)|level=warn)/, (route) => route.fulfill(refusal))
      await page.getByLabel('Status').selectOption('disabled')
      await page.getByRole('alert').getByText('not now').waitFor()
      assert.equal(await page.getByRole('link', { name: url }).count(), 0)
      await go('/activity')
      await settled()
      await page.getByRole('link', { name: 'Ahoy' }).first().waitFor()
      await page.getByLabel('Status').selectOption('failed')
      await page.getByRole('alert').getByText('not now').waitFor()
      assert.equal(await page.getByRole('link', { name: 'Ahoy' }).count(), 0)
      await go('/agents/hello/logs')
      await page.getByRole('log').locator('li').first().waitFor()
      await page.getByRole('button', { name: 'warn', exact: true }).click()
      await page.getByRole('alert').getByText('not now').waitFor()
      assert.equal(await page.getByRole('log').locator('li').count(), 0)
      await leave()
    })
  },
  { settings: { MOORAGE_OUTGOING__ALLOW_INSECURE: 'true', MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.1' } },
)
