import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

const PRICES = JSON.stringify([{ model: 'local/fixed', input: 5, output: 6 }])

let model: ModelServer

inConsole(
  'prices in the console',
  (visit, service) => {
    const row = (page: Page, name: string) =>
      page.getByRole('region', { name: 'Prices' }).getByRole('row', { name: new RegExp(`^${name}`) })
    const priceOf = async (name: string) => {
      const { body } = await service().call('GET', '/v1/prices?limit=100')
      const { source, set_for, input, output, cached_input } = body.data.find(
        ({ model: listed }: { model: string }) => listed === name,
      )
      return { source, set_for, input, output, cached_input }
    }
    before(async () => {
      await createAgent(service(), 'gull', { model: 'local/meta/tiny' })
      await createAgent(service(), 'tern', { model: 'local/other' })
      model.reply({ text: ['Calm.'], usage: { prompt_tokens: 100, completion_tokens: 10 } })
      const asked = await service().call('POST', '/v1/agents/gull/invoke', { body: { message: 'How is the sea?' } })
      assert.equal(asked.status, 200, asked.text)
    })
    after(() => model.close())

    test('the notice about calls without a price sets one, and then says that the calls were made before it', async () => {
      const { page, expect, settled, leave } = await visit('/usage?by=agent', { isStill: true })
      await page.getByText("The total doesn't include 1 call to local/meta/tiny, because").waitFor()
      await page.getByRole('button', { name: 'Set price of local/meta/tiny' }).click()
      const dialog = page.getByRole('dialog', { name: 'Price of local/meta/tiny' })
      await dialog.getByLabel('Input (USD per million tokens)', { exact: true }).fill('-1')
      await dialog.getByLabel('Output (USD per million tokens)').fill('2')
      await checkAccess(page)
      expect(/400/)
      await dialog.getByRole('button', { name: 'Save price' }).click()
      await dialog.locator('.wrong', { hasText: 'must be at least 0' }).waitFor()
      await dialog.getByLabel('Input (USD per million tokens)', { exact: true }).fill('0.5')
      await dialog.getByRole('button', { name: 'Save price' }).click()
      await page.getByText('1 call to local/meta/tiny from before its price was set.').waitFor()
      await page.getByText('moorage usage reprice').waitFor()
      assert.equal(await page.getByRole('button', { name: /^Set price of/ }).count(), 0)
      await settled()
      await checkAccess(page)
      const own = { source: 'api', set_for: 'local/meta/tiny', input: 0.5, output: 2, cached_input: 0.5 }
      assert.deepEqual(await priceOf('local/meta/tiny'), own)
      await leave()
    })

    test("each price shows its source; the project's own can be set, changed and deleted", async () => {
      const { page, expect, settled, leave } = await visit('/usage', { isStill: true })
      await page.getByRole('navigation', { name: 'Usage' }).getByRole('link', { name: 'Prices' }).click()
      await row(page, 'local/fixed \\$5\\.00 .*moorage\\.yaml').waitFor()
      assert.equal(await row(page, 'local/fixed').getByRole('button').count(), 0)
      await row(page, 'local/other – – – – – – no price')
        .getByRole('button', { name: /^Set price of/ })
        .waitFor()
      await settled()
      await checkAccess(page)

      await page.getByRole('button', { name: 'Set price', exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Model', { exact: true }).fill('local/fixed')
      await dialog.getByLabel('Input (USD per million tokens)', { exact: true }).fill('3')
      await dialog.getByLabel('Output (USD per million tokens)').fill('4')
      expect(/409/)
      await dialog.getByRole('button', { name: 'Save price' }).click()
      await dialog.getByText('The price of local/fixed is defined in moorage.yaml').waitFor()
      await dialog.getByLabel('Model', { exact: true }).fill('local/*')
      await dialog.getByRole('button', { name: 'Save price' }).click()
      await row(
        page,
        'local/other \\$3\\.00 \\$3\\.00 \\$3\\.00 \\$4\\.00 \\$4\\.00 \\$0 this project · local/\\*',
      ).waitFor()
      // The price of all models of the provider is deleted in its own row.
      assert.equal(await page.getByRole('button', { name: 'Delete price of local/other' }).count(), 0)

      await page.getByRole('button', { name: 'Change price of local/meta/tiny' }).click()
      await dialog.getByLabel('Cached input').fill('0.1')
      // What another person has changed meanwhile stays.
      const theirs = { input: 0.5, output: 7 }
      assert.equal((await service().call('PUT', '/v1/prices/local/meta%2Ftiny', { body: theirs })).status, 200)
      await dialog.getByRole('button', { name: 'Save price' }).click()
      await row(page, 'local/meta/tiny \\$0\\.5\\d* \\$0\\.1\\d* \\$0\\.5\\d* \\$7\\.00').waitFor()
      await page.getByRole('button', { name: 'Delete price of local/meta/tiny' }).click()
      await dialog.getByRole('button', { name: 'Delete price' }).click()
      await row(page, 'local/meta/tiny \\$3\\.00 .*this project · local/\\*').waitFor()
      await page.getByRole('button', { name: 'Delete price of local/*' }).click()
      await dialog.getByRole('button', { name: 'Delete price' }).click()
      await row(page, 'local/meta/tiny – .*no price').waitFor()
      await leave()
    })

    test('a budget in dollars warns about models without a price before and after it is created, and in its details', async () => {
      const text = 'These models have no price: local/meta/tiny, local/other.'
      const { page, go, leave } = await visit('/usage/budgets?open=budget', { isStill: true })
      const dialog = page.getByRole('dialog')
      const link = dialog.getByRole('link', { name: 'Set prices' })
      await dialog.getByText(`${text} A budget in US dollars refuses calls without a price.`).waitFor()
      await checkAccess(page)
      await dialog.getByLabel('Unit', { exact: true }).selectOption('runs')
      await link.waitFor({ state: 'detached' })
      await dialog.getByLabel('Unit', { exact: true }).selectOption('US dollars')
      await link.waitFor()
      await dialog.getByLabel('Name').fill('Monthly')
      await dialog.getByLabel('Limit', { exact: true }).fill('25')
      await dialog.getByRole('button', { name: 'Create budget' }).click()
      await dialog.waitFor({ state: 'detached' })
      const told = (effect: string) =>
        new RegExp(`The models local/\\S+, local/\\S+ have no price\\. This budget ${effect} their calls until`)
      await page
        .locator('p', { hasText: 'Monthly: The models' })
        .filter({ hasText: told('refuses') })
        .waitFor()
      await page.getByRole('button', { name: 'Change Monthly' }).click()
      await dialog.getByText(told('refuses')).waitFor()
      await dialog.getByLabel('When the limit is reached').selectOption('only notify')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText(told("doesn't count")).waitFor()
      const { body } = await service().call('GET', '/v1/budgets')
      await go('/usage/prices')
      await go(`/usage/budgets?budget=${body.data[0].id}`)
      await page.getByText(told("doesn't count")).waitFor()
      await checkAccess(page)
      await page.getByRole('button', { name: 'Delete Monthly' }).click()
      await dialog.getByRole('button', { name: 'Delete budget' }).click()
      await page.getByText('No budgets yet').waitFor()
      assert.equal(await page.getByText('have no price').count(), 0)
      await leave()
    })

    test("a viewer sees prices but can't set them, and they fit on a phone", async () => {
      const { secret: key } = await createKey(service(), { role: 'viewer' })
      const { page, settled, leave } = await visit('/usage/prices', { key, width: 390, isStill: true })
      await row(page, 'local/fixed \\$5\\.00 \\$6\\.00 moorage\\.yaml').waitFor()
      assert.equal(await page.getByRole('button', { name: /price/i }).count(), 0)
      await settled()
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      assert.ok(Number(await page.evaluate(overflow)) <= 0)
      await leave()
      const owner = await visit('/usage/prices', { width: 390, isStill: true })
      await row(owner.page, 'local/other')
        .getByRole('button', { name: /^Set price of/ })
        .waitFor()
      await owner.settled()
      const cut = `[...document.querySelectorAll('.scroll, .scroll td')].filter((one) => one.scrollWidth > one.clientWidth).length`
      assert.equal(await owner.page.evaluate(cut), 0)
      await owner.leave()
      const reader = await visit('/usage', { key, isStill: true })
      await reader.page.getByText("The total doesn't include 1 call to local/meta/tiny").waitFor()
      await reader.settled()
      assert.equal(await reader.page.getByRole('button', { name: /Set price/ }).count(), 0)
      await reader.leave()
      const limited = await createKey(service(), { role: 'admin', agent_id: 'gull' })
      const ofOne = await visit('/usage/prices', { key: limited.secret, isStill: true })
      await row(ofOne.page, 'local/meta/tiny').waitFor()
      assert.equal(await ofOne.page.getByRole('button', { name: /price/i }).count(), 0)
      await ofOne.leave()
    })
  },
  {
    settings: async () => {
      model = await startModelServer()
      return { ...localProvider(model.url), MOORAGE_PRICES: PRICES }
    },
  },
)
