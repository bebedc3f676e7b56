import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { createAgent } from '../../support/slices/resources.ts'

const KEY = 'sk-kept-to-ourselves-77f0'

let model: ModelServer
/** Answers with a list of models to whoever has the key. */
let strict: LocalServer
before(async () => {
  model = await startModelServer()
  strict = await startLocalServer((request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${KEY}`
    response.writeHead(isKnown ? 200 : 401).end(JSON.stringify({ data: [{ id: 'tiny' }] }))
  })
})
after(async () => {
  await model.close()
  await strict.close()
})

inConsole(
  'dialogs that two users have open',
  (visit, service) => {
    const call = async (method: 'GET' | 'POST' | 'PATCH' | 'PUT', path: string, body?: object) => {
      const reply = await service().call(method, path, body && { body })
      assert.ok(reply.status < 300, reply.text)
      return reply.body.data
    }

    test('a project: only changed fields are sent, and a large byte limit can be edited like any number', async () => {
      const { id } = await call('POST', '/v1/projects', { name: 'shop', limits: { stored_bytes: 10_000_000_000 } })
      const { page, leave } = await visit('/projects')
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Change shop' }).click()
      await dialog.getByLabel('Description', { exact: true }).fill('Ropes')
      await call('PATCH', `/v1/projects/${id}`, { limits: { concurrent_runs: 7 } })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Project shop updated').waitFor()
      const { description, limits } = await call('GET', `/v1/projects/${id}`)
      assert.deepEqual([description, limits.concurrent_runs, limits.stored_bytes], ['Ropes', 7, 10_000_000_000])

      await page.getByRole('button', { name: 'Change shop' }).click()
      await dialog.getByLabel('Max concurrent runs').fill('9')
      await dialog.getByLabel('File bytes').fill('250000000')
      await call('PATCH', `/v1/projects/${id}`, { limits: { concurrent_runs: 3 } })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Max concurrent runs was changed to 3 while you were editing').waitFor()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      const { limits: last } = await call('GET', `/v1/projects/${id}`)
      assert.deepEqual([last.concurrent_runs, last.file_bytes], [9, 250_000_000])
      await leave()
    })

    test('a budget: another name leaves the limit and the action as they are now', async () => {
      const made = { scope: { type: 'project', id: null }, per: 'month', limit: { cost_usd: 100 }, action: 'refuse' }
      const { id } = await call('POST', '/v1/budgets', { name: 'Month', ...made })
      const { page, expect, leave } = await visit('/usage/budgets')
      expect(/400/)
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Change Month' }).click()
      await dialog.getByLabel('Name').fill('All of us')
      await call('PATCH', `/v1/budgets/${id}`, { limit: { cost_usd: 10 }, action: 'notify' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Budget All of us updated').waitFor()
      const { limit, action, name } = await call('GET', `/v1/budgets/${id}`)
      assert.deepEqual([limit, action, name], [{ cost_usd: 10 }, 'notify', 'All of us'])
      await page.getByRole('button', { name: 'Change All of us' }).click()
      await dialog.getByLabel('Limit', { exact: true }).fill('2.5.0')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Limit must be a number').waitFor()
      await leave()
    })

    test('a schedule and a webhook: changes by others are kept', async () => {
      await createAgent(service(), 'clerk')
      const path = '/v1/agents/clerk/schedules'
      const { id } = await call('POST', path, { message: 'Count', every: '1h', name: 'Round' })
      const { page, leave } = await visit('/agents/clerk/schedules')
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Round' }).click()
      await dialog.getByRole('button', { name: 'Change' }).click()
      await dialog.getByLabel('Name').fill('Night round')
      await dialog.getByLabel('Priority').selectOption('batch')
      await call('PATCH', `${path}/${id}`, { every: '6h', message: 'Count twice', overlap: 'queue' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Schedule updated').waitFor()
      const { every, message, overlap, name, priority } = await call('GET', `${path}/${id}`)
      assert.deepEqual([every, message, overlap, name], ['6h', 'Count twice', 'queue', 'Night round'])
      assert.equal(priority, 'batch')
      await leave()

      const sent = { url: 'https://example.com/hook', events: ['agent.failed'] }
      const hook = await call('POST', '/v1/webhooks', sent)
      const other = await visit(`/webhooks/${hook.id}`)
      await other.page.getByRole('button', { name: 'Edit' }).click()
      await other.page.getByRole('dialog').getByLabel('Description', { exact: true }).fill('Board')
      await call('PATCH', `/v1/webhooks/${hook.id}`, { events: ['agent.completed'] })
      await other.page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
      await other.page.getByRole('dialog').waitFor({ state: 'detached' })
      const { events, description } = await call('GET', `/v1/webhooks/${hook.id}`)
      assert.deepEqual([events, description], [['agent.completed'], 'Board'])
      await other.leave()
    })

    test('dragging out of a dialog selects text; only a click outside closes it', async () => {
      const { page, leave } = await visit('/agents/clerk/schedules?open=schedule')
      const dialog = page.getByRole('dialog')
      const field = dialog.getByLabel('Message')
      await field.fill('Good morning')
      const box = await field.boundingBox()
      assert.ok(box)
      await page.mouse.move(box.x + 60, box.y + 10)
      await page.mouse.down()
      await page.mouse.move(5, box.y + 10, { steps: 3 })
      await page.mouse.up()
      assert.equal(await field.inputValue(), 'Good morning')
      await page.mouse.click(5, 5)
      await dialog.waitFor({ state: 'detached' })
      await leave()
    })

    test('a schedule: the next times are shown while it is typed, in its time zone, and an error goes with its cause', async () => {
      const { page, expect, leave } = await visit('/agents/clerk/schedules?open=schedule', {
        timezone: 'Europe/Berlin',
      })
      expect(/400/)
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Message').fill('Good morning')
      await dialog.getByLabel('Cron expression').fill('61 * * * *')
      await dialog.getByRole('button', { name: 'Create schedule' }).click()
      const wrong = dialog.locator('.wrong')
      await wrong.first().waitFor()
      await dialog.getByLabel('Cron expression').fill('0 9 1 1 *')
      assert.equal(await wrong.count(), 0)
      await dialog.getByLabel('Time zone').fill('Asia/Tokyo')
      await dialog.getByText(/^Next: .* 1 Jan 20\d\d, 09:00; .* \(Asia\/Tokyo\)$/).waitFor()
      await dialog.getByRole('button', { name: 'Create schedule' }).click()
      await page.getByRole('button', { name: 'Good morning' }).click()
      await dialog
        .getByText(/1 Jan 20\d\d, 09:00 Asia\/Tokyo/)
        .first()
        .waitFor()
      await leave()
    })

    test("a provider: a new URL requires the key, an untouched key stays, and the test's result is shown", async () => {
      await call('PUT', '/v1/providers/gateway', { base_url: strict.url, api_key: KEY })
      const { page, expect, leave } = await visit('/connections')
      expect(/400/)
      const dialog = page.getByRole('dialog')
      const providerNow = async () => (await call('GET', '/v1/providers'))[0]
      await page.getByRole('button', { name: 'Change gateway' }).click()
      await dialog.getByLabel('Base URL', { exact: true }).fill(`${strict.url}/v1`)
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      await page.getByText('gateway saved: 1 model listed, API key accepted').waitFor()
      assert.equal((await providerNow()).has_key, true)

      await page.getByRole('button', { name: 'Change gateway' }).click()
      await dialog.getByLabel('Base URL', { exact: true }).fill(model.url)
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      await dialog.getByText('Enter the key again').waitFor()
      assert.equal((await providerNow()).base_url, `${strict.url}/v1`)
      await dialog.getByLabel('API key', { exact: true }).fill('sk-bad')
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      await dialog.getByText('the key could not be tested').waitFor()
      model.reply({ status: 401, body: { error: { message: 'wrong key' } } })
      await dialog.getByRole('button', { name: 'Test model' }).click()
      await dialog.getByText(/the API key was refused/).waitFor()
      assert.equal(await page.getByText('answers', { exact: true }).count(), 0)
      await dialog.getByLabel('This provider needs no key').check()
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      await page.getByText('gateway saved: 2 models listed').waitFor()
      assert.equal((await providerNow()).has_key, false)
      await leave()
    })

    test('a memory: a correction by another user is reported before it is overwritten', async () => {
      await createAgent(service(), 'keeper')
      await call('POST', '/v1/agents/keeper/memory', { items: [{ content: 'Likes tea', kind: 'note' }] })
      const [{ id }] = await call('GET', '/v1/agents/keeper/memory')
      const contentNow = async () => (await call('GET', `/v1/agents/keeper/memory/${id}`)).content
      const { page, leave } = await visit('/agents/keeper/memory')
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Likes tea' }).click()
      await dialog.getByLabel('Content').fill('Likes coffee')
      await call('PATCH', `/v1/agents/keeper/memory/${id}`, { content: 'Likes rum' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Content was changed to Likes rum while you were editing.').waitFor()
      assert.equal(await contentNow(), 'Likes rum')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Memory updated').waitFor()
      assert.equal(await contentNow(), 'Likes coffee')
      await leave()
    })

    test('a new secret or provider does not overwrite an existing one with the same name', async () => {
      await call('PUT', '/v1/secrets/TAKEN', { value: 'theirs', hosts: ['a.example.com'] })
      await call('PUT', '/v1/providers/taken', { base_url: model.url })
      const { page, go, leave } = await visit('/connections?view=secrets&open=new')
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('TAKEN')
      await dialog.getByLabel('Value').fill('mine')
      await dialog.getByLabel('Hosts').fill('b.example.com')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('A secret named TAKEN already exists.').waitFor()
      const secrets: { name: string; hosts: string[] }[] = await call('GET', '/v1/secrets')
      assert.deepEqual(secrets.find(({ name }) => name === 'TAKEN')?.hosts, ['a.example.com'])

      await go('/connections?open=new')
      await dialog.getByLabel('Name').fill('taken')
      await dialog.getByLabel('Base URL', { exact: true }).fill(`${strict.url}/v1`)
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      await dialog.getByText('A provider named taken already exists.').waitFor()
      const providers: { name: string; base_url: string }[] = await call('GET', '/v1/providers')
      assert.equal(providers.find(({ name }) => name === 'taken')?.base_url, model.url)
      // One that was saved here is changed by the next save, whatever its test said.
      await dialog.getByLabel('Name').fill('fresh')
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      await dialog.getByText('Saved, but the test failed.').waitFor()
      await dialog.getByLabel('API key', { exact: true }).fill(KEY)
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      await page.getByText('fresh saved: 1 model listed').waitFor()
      await leave()
    })

    test("a rollback can't be confirmed before its effect is shown", async () => {
      await createAgent(service(), 'turner')
      for (const version of ['v1', 'v2']) {
        await service().call('PATCH', '/v1/agents/turner', { body: { description: version } })
        await service().call('POST', '/v1/agents/turner/deployments', { body: { environment: 'production', version } })
      }
      const { page, leave } = await visit('/agents/turner/deployments')
      await page.route('**/rollback', () => {})
      await page
        .getByRole('button', { name: /^Roll back/ })
        .first()
        .click()
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      assert.deepEqual(await dialog.locator('footer button').allInnerTexts(), ['Cancel'])
      await leave()
    })

    test('an undo that fails says so', async () => {
      const id = await createAgent(service(), 'brief')
      const { page, expect, leave } = await visit('/agents/brief/settings')
      await page.getByRole('button', { name: 'Pause …' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Pause agent' }).click()
      await page.getByRole('button', { name: 'Undo' }).waitFor()
      await service().call('DELETE', `/v1/agents/${id}`)
      expect(/404/)
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('status').getByText('not found').waitFor()
      await leave()
    })
  },
  { settings: LOCAL_TOOLS },
)
