import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'

const KEY = 'sk-typed-once-9c2e'
const TOKEN = 'token-typed-once-51ab'

let model: ModelServer
let shop: LocalServer
let orders: { line: string; authorization: string | undefined; till: unknown }[] = []
before(async () => {
  model = await startModelServer()
  shop = await startLocalServer((request, response) => {
    const { authorization, 'x-till': till } = request.headers
    orders.push({ line: `${request.method} ${request.url}`, authorization, till })
    response.end('Order 4711 left the harbour yesterday')
  })
})
after(async () => {
  await model.close()
  await shop.close()
})

inConsole(
  'an agent built in the browser alone',
  (visit, service) => {
    test('from an empty store: a provider, a secret, an agent with a tool, a deployment, an answer', async () => {
      const { page, leave } = await visit('/')
      const click = (name: string | RegExp) => page.getByRole('button', { name }).click()
      const dialog = page.getByRole('dialog')

      // A provider: saved, tested, and seen to have models.
      await page.getByRole('link', { name: 'Connections' }).click()
      await page.getByText('No model providers yet').waitFor()
      await click('Add provider')
      await dialog.getByLabel('Name', { exact: true }).fill('local')
      await dialog.getByLabel('Base URL', { exact: true }).fill(model.url)
      await dialog.getByLabel('API key', { exact: true }).fill(KEY)
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      // The list is public, so the key is tested by an answer.
      await dialog.getByText('the key could not be tested').waitFor()
      await dialog.getByRole('button', { name: 'Test model' }).click()
      await dialog.getByText('answers', { exact: true }).waitFor()
      assert.equal(model.requests[0]?.headers.authorization, `Bearer ${KEY}`)
      await dialog.getByRole('button', { name: 'Close' }).last().click()
      await page.getByText('lists 2 models').waitFor()

      // A secret.
      await click('Secrets')
      await click('Add secret')
      await dialog.getByLabel('Name', { exact: true }).fill('SHOP_TOKEN')
      await dialog.getByLabel('Value', { exact: true }).fill(TOKEN)
      await dialog.getByLabel('Hosts', { exact: true }).fill(shop.url)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('cell', { name: 'SHOP_TOKEN', exact: true }).waitFor()

      // An agent: its model is one that the provider has named itself.
      await page.getByRole('link', { name: 'Agents' }).click()
      await click('New agent')
      await dialog.getByLabel('Name', { exact: true }).fill('clerk')
      await page.locator('datalist option[value="local/tiny"]').first().waitFor({ state: 'attached' })
      await dialog.getByLabel('Model', { exact: true }).last().fill('local/tiny')
      await dialog.getByRole('button', { name: 'Create agent' }).click()
      await page.getByText('Agent created').waitFor()

      // Its tool, tried before it is saved.
      await page.getByRole('link', { name: 'Settings' }).click()
      await click('Tools')
      await click(/^Add: HTTP/)
      await page.getByLabel('Name', { exact: true }).fill('find_order')
      await page.getByLabel('Description', { exact: true }).fill('Says where an order is')
      await page.getByLabel('URL', { exact: true }).fill(`${shop.url}/orders/{order}?as={order}`)
      await page.getByText('The URL uses order.').waitFor()
      await click('Add as parameters')
      assert.equal(await page.getByLabel(/^Name of parameter/).inputValue(), 'order')
      await click('Add header')
      assert.equal(await page.getByLabel('Header 1', { exact: true }).inputValue(), 'Authorization')
      await page.getByLabel('Value of header 1').fill('Bearer {{secret.SHOP_TOKEN}}')
      // Another one comes below it.
      await click('Add header')
      await page.getByLabel('Header 2', { exact: true }).fill('X-Till')
      await page.getByLabel('Value of header 2').fill('4')
      await click('Test')
      await page.getByRole('region', { name: 'Test' }).getByLabel('order').fill('4711')
      await click('Run test')
      await page.getByText('Order 4711 left the harbour yesterday').waitFor()
      assert.deepEqual(orders, [{ line: 'GET /orders/4711?as=4711', authorization: `Bearer ${TOKEN}`, till: '4' }])
      await click('Save')
      await page.getByText('Draft saved').waitFor()

      // Deployed, and asked.
      await page.getByRole('link', { name: 'Deployments' }).click()
      await click('Deploy')
      await dialog.getByRole('button', { name: 'Deploy' }).click()
      await page.getByRole('cell', { name: 'production' }).first().waitFor()
      await page.getByRole('link', { name: 'Playground' }).click()
      model.reset()
      model.reply(
        { calls: [{ name: 'find_order', arguments: { order: '4711' } }] },
        { text: ['It left ', 'yesterday.'] },
      )
      await page.getByLabel('Message').fill('Where is my order 4711?')
      await page.keyboard.press('Enter')
      await page.getByText('It left yesterday.').waitFor()
      assert.equal(orders.length, 2)
      assert.equal(model.requests[0]?.headers.authorization, `Bearer ${KEY}`)
      await leave()

      for (const path of ['/v1/providers', '/v1/secrets', '/v1/agents/clerk', '/v1/agents/clerk/logs']) {
        const { text } = await service().call('GET', path)
        assert.ok(!text.includes(KEY) && !text.includes(TOKEN), path)
      }
    })
  },
  { settings: LOCAL_TOOLS },
)
