import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { untilHolds } from '../../support/running/until.ts'
import { inProject } from '../../support/service/service.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

const PRICES = JSON.stringify([{ model: 'local/priced', input: 1_000, output: 2_000 }])

/** A zone where a day has just begun: its budget starts over in 23 hours, at whatever hour the test runs. */
const UTC_HOUR = new Date().getUTCHours()
const MORNING_ZONE = UTC_HOUR <= 12 ? `Etc/GMT+${UTC_HOUR}` : `Etc/GMT-${24 - UTC_HOUR}`

let model: ModelServer

inConsole(
  'budgets in the console',
  (visit, service) => {
    const row = (page: Page, name: string) =>
      page.getByRole('region', { name: 'Budgets' }).getByRole('row', { name: new RegExp(`^${name}`) })
    const dialog = (page: Page) => page.getByRole('dialog')
    before(async () => {
      await createAgent(service(), 'pilot', { model: 'local/priced' })
      await createAgent(service(), 'parrot')
    })
    after(() => model.close())

    test('a budget is created, changed and deleted; an invalid one shows why at its field', async () => {
      const { page, expect, leave } = await visit('/usage')
      await page.getByRole('navigation', { name: 'Usage' }).getByRole('link', { name: 'Budgets' }).click()
      await page.getByText('No budgets yet').waitFor()
      await page.getByRole('button', { name: 'New budget' }).click()
      await dialog(page).getByLabel('Name').fill('Pilot, daily')
      await dialog(page).getByLabel('Applies to').selectOption('an agent')
      await dialog(page).getByLabel('Agent').fill('nobody')
      await dialog(page).getByLabel('Limit', { exact: true }).fill('much')
      expect(/400/)
      await page.keyboard.press('Enter')
      await page.getByText('Limit must be a number').waitFor()
      await dialog(page).getByLabel('Limit', { exact: true }).fill('2.5')
      await dialog(page).getByLabel('Period').selectOption('per day')
      await dialog(page).getByLabel('Time zone').fill(MORNING_ZONE)
      await dialog(page).getByRole('button', { name: 'Create budget' }).click()
      await page.getByText('no agent with this ID or name exists').waitFor()
      await dialog(page).getByLabel('Agent').fill('pilot')
      await page.keyboard.press('Enter')
      await page.getByText('Budget Pilot, daily created').waitFor()
      const shown = await row(page, 'Pilot, daily').innerText()
      assert.match(shown, /agent pilot\s+\$0 of \$2\.50\s+per day\s+in 2\dh\s+refuses · notifies at 50%, 80%, 100%/)
      await checkAccess(page)
      const { body } = await service().call('GET', '/v1/budgets')
      const [{ limit, per, timezone, scope }] = body.data
      assert.deepEqual([limit, per, timezone, scope.type], [{ cost_usd: 2.5 }, 'day', MORNING_ZONE, 'agent'])

      await page.getByRole('button', { name: 'Change Pilot, daily' }).click()
      assert.equal(await dialog(page).getByLabel('Period').count(), 0)
      await dialog(page).getByLabel('Limit', { exact: true }).fill('4')
      await dialog(page).getByLabel('Notify at (%)').fill('60%, 90 %')
      await dialog(page).getByLabel('When the limit is reached').selectOption('only notify')
      await dialog(page).getByRole('button', { name: 'Save' }).click()
      await row(page, 'Pilot, daily .*of \\$4\\.00.*notifies only · notifies at 60%, 90%').waitFor()

      await page.getByRole('button', { name: 'Delete Pilot, daily' }).click()
      await dialog(page).getByRole('button', { name: 'Delete budget' }).click()
      await page.getByText('No budgets yet').waitFor()
      await leave()
    })

    test('a bar shows the spending, and a refused run links to its budget', async () => {
      const made = { scope: { type: 'agent', id: 'parrot' }, limit: { runs: 1 }, per: 'ever' }
      await service().call('POST', '/v1/budgets', { body: { name: 'Parrot', ...made } })
      await service().call('POST', '/v1/budgets', {
        body: { name: 'Other', scope: { type: 'project' }, limit: { tokens: 1_000_000 }, per: 'hour' },
      })
      const { page, expect, leave } = await visit('/agents/parrot')
      const say = async (message: string) => {
        await page.getByLabel('Message').fill(message)
        await page.keyboard.press('Enter')
      }
      await say('once')
      await page.getByText('once').nth(1).waitFor()
      await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
      expect(/429/)
      await say('twice')
      await page.getByText('budget_exceeded').first().waitFor()
      await page.getByRole('link', { name: 'Open budget' }).first().click()
      await row(page, 'Parrot .*1 of 1 runs').waitFor()
      assert.equal(await row(page, 'Other').count(), 0)
      await page.getByRole('img', { name: '100% used, 0% reserved' }).waitFor()
      await page.getByRole('button', { name: 'Only Parrot' }).click()
      await row(page, 'Other').waitFor()

      await page.goto(`${service().url}/activity?status=failed`)
      await page.getByRole('link', { name: 'twice' }).click()
      await page.getByText('The budget "Parrot" doesn\'t have enough left').first().waitFor()
      await page.getByRole('link', { name: 'Open budget' }).click()
      await row(page, 'Parrot').waitFor()
      await leave()
    })

    test('a page past the end shows the last page, and pages that exist again can be opened', async () => {
      assert.equal((await service().call('POST', '/v1/projects', { body: { name: 'yard' } })).status, 201)
      const yard = inProject(service(), 'yard')
      const make = async (name: string) => {
        const body = { name, scope: { type: 'project' }, limit: { runs: 1_000 }, per: 'ever' }
        assert.equal((await yard.call('POST', '/v1/budgets', { body })).status, 201)
      }
      for (let n = 1; n <= 26; n++) await make(`Budget ${String(n).padStart(2, '0')}`)
      const { page, go, leave } = await visit('/usage/budgets?project=yard&offset=25', { isHurried: true })
      const pages = page.getByRole('navigation', { name: 'Pages' })
      await pages.getByText('26–26 of 26').waitFor()
      await page.getByRole('button', { name: 'Delete Budget 26' }).click()
      await dialog(page).getByRole('button', { name: 'Delete budget' }).click()
      await pages.getByText('of 25').waitFor()
      assert.equal(await pages.innerText(), '1–25 of 25')
      await row(page, 'Budget 25').waitFor()
      assert.equal(new URL(page.url()).searchParams.get('offset'), null)

      await make('Budget 27')
      await pages.getByText('1–25 of 26').waitFor()
      await page.getByRole('button', { name: 'Next page' }).click()
      await pages.getByText('26–26 of 26').waitFor()
      await row(page, 'Budget 27').waitFor()

      await go('/usage/budgets?project=yard&offset=75')
      await row(page, 'Budget 27').waitFor()
      await untilHolds(() => assert.equal(new URL(page.url()).searchParams.get('offset'), '25'))
      await go('/approvals?project=yard&offset=20')
      await page.getByText('No approvals waiting').waitFor()
      await untilHolds(() => assert.equal(new URL(page.url()).searchParams.get('offset'), null))
      await leave()
      assert.equal((await service().call('DELETE', '/v1/projects/yard?name=yard')).status, 200)
    })

    test('on a phone, long names take several lines: nothing is cut or overlaps', async () => {
      const name = 'EverythingThatTheHarbourSpendsInTheYear2026'
      const body = { name, scope: { type: 'user' }, limit: { tokens: 123_456_789 }, per: 'month' }
      assert.equal((await service().call('POST', '/v1/budgets', { body })).status, 201)
      const context = { user_id: 'TheCustomerWhoHasTheLongestNameOfThemAll' }
      await service().call('POST', '/v1/agents/pilot/invoke', { body: { message: 'x', context } })
      const { page, leave } = await visit('/usage/budgets', { width: 390 })
      await row(page, name).getByText(context.user_id).waitFor()
      const widths = `[...document.querySelectorAll('.scroll, .scroll td')].filter((one) => one.scrollWidth > one.clientWidth).length`
      assert.equal(await page.evaluate(widths), 0)
      await leave()
    })

    test('service budgets are for its administrators, each project has its own, and a viewer sees none', async () => {
      await service().call('POST', '/v1/projects', { body: { name: 'shop' } })
      const shop = inProject(service(), 'shop')
      const { page, leave } = await visit('/usage/budgets?project=shop&open=budget')
      await dialog(page).getByLabel('Name').fill('Everything')
      await dialog(page).getByLabel('Applies to').selectOption('the whole service')
      await dialog(page).getByLabel('Limit', { exact: true }).fill('100')
      await dialog(page).getByRole('button', { name: 'Create budget' }).click()
      await row(page, 'Everything the whole service').waitFor()
      assert.equal(await row(page, 'Parrot').count(), 0)
      await leave()

      const { secret: key } = await createKey(shop, { role: 'admin' })
      const owner = await visit('/usage/budgets?open=budget', { key })
      await dialog(owner.page).getByLabel('Applies to').waitFor()
      assert.equal(await owner.page.getByRole('option', { name: 'the whole service' }).count(), 0)
      await owner.page.keyboard.press('Escape')
      await owner.page.getByText('No budgets yet').waitFor()
      await owner.leave()

      const { secret } = await createKey(shop, { role: 'viewer' })
      const reader = await visit('/usage', { key: secret })
      await reader.page.getByRole('heading', { name: 'Usage', exact: true }).waitFor()
      await reader.page.getByText('No usage in this range').waitFor()
      assert.equal(await reader.page.getByRole('link', { name: 'Budgets' }).count(), 0)
      await reader.leave()
    })
  },
  {
    settings: async () => {
      model = await startModelServer()
      return { ...localProvider(model.url), MOORAGE_PRICES: PRICES }
    },
  },
)
