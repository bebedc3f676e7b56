import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { inProject, type Service } from '../../support/service/service.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

const PRICES = JSON.stringify([{ model: 'local/priced', input: 1_000, output: 2_000 }])
const DAY_MS = 86_400_000

/** One answer that is reported as 100 tokens in, of which 40 were cached, and 10 out. It costs 0.12 dollars. */
const ANSWER = [
  '{"choices":[{"index":0,"delta":{"content":"Calm."},"finish_reason":"stop"}]}',
  '{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":40}}}',
  '[DONE]',
]
const raw = ANSWER.map((data) => `data: ${data}\n\n`).join('')

/** The legend of a chart where the pointer, on its way from the right, first meets this amount. */
async function legendAt(page: Page, title: string, amount: string): Promise<string> {
  const chart = page.getByRole('figure', { name: title })
  const box = await chart.locator('.plot').boundingBox()
  assert.ok(box)
  for (let x = box.x + box.width; x > box.x; x -= 10) {
    await page.mouse.move(x, box.y + 50)
    const legend = await chart.locator('.legend').innerText()
    if (legend.includes(amount)) return legend
  }
  return 'nowhere'
}

let model: ModelServer

inConsole(
  'usage in the console',
  (visit, service) => {
    const ask = async (agent: string, context = {}, project: Service = service()) => {
      if (agent !== 'parrot') model.reply({ raw })
      const body = { message: 'How is the sea?', context }
      const { status, text, body: reply } = await project.call('POST', `/v1/agents/${agent}/invoke`, { body })
      assert.equal(status, 200, text)
      return reply.data.request_id as string
    }
    before(async () => {
      await createAgent(service(), 'pilot', { model: 'local/priced' })
      await createAgent(service(), 'gull', { model: 'local/tiny' })
      await createAgent(service(), 'parrot')
      service().advance(-3 * DAY_MS)
      await ask('pilot', { user_id: 'ann' })
      service().advance(3 * DAY_MS)
      await ask('pilot', { user_id: 'ann' })
      await ask('pilot', { user_id: 'bob' })
      await ask('parrot', { user_id: 'bob' })
    })
    after(() => model.close())

    test('cost and tokens over time, by model and by others, limited by a click, and as CSV', async () => {
      const { page, settled, leave } = await visit('/usage', { isStill: true })
      const table = page.getByRole('region', { name: 'Usage' })
      const row = (name: RegExp) => table.getByRole('row', { name })
      assert.match(await row(/^local\/priced/).innerText(), /\s3\s+300\s+120\s+0\s+30\s+0\s+330\s+\$0\.36$/)
      assert.match(await row(/^builtin\/echo/).innerText(), /\$0$/)
      assert.match(await row(/^Total/).innerText(), /\$0\.36$/)
      await page.getByRole('figure', { name: 'Cost per day' }).waitFor()
      await page.getByRole('figure', { name: 'Tokens per day' }).waitFor()
      const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' }).format(Date.now() - 3 * DAY_MS)
      assert.match(await legendAt(page, 'Cost per day', '$0.12'), new RegExp(`^${day}, 00:00:00`))
      await settled()
      await checkAccess(page)

      const saving = page.waitForEvent('download')
      await page.getByRole('button', { name: 'CSV' }).click()
      const saved = await saving
      assert.equal(saved.suggestedFilename(), 'usage-by-model.csv')
      const [head, ...lines] = (await readFile(await saved.path(), 'utf8')).trim().split(/\r?\n/)
      assert.match(head ?? '', /^time,model,calls,/)
      assert.equal(lines.length, 3)

      await page.getByRole('button', { name: '24h' }).click()
      await row(/^Total.*\$0\.24$/).waitFor()
      await page.getByRole('figure', { name: 'Cost per hour' }).waitFor()
      await page.getByLabel('Group by').selectOption('by user')
      await table.getByRole('link', { name: 'bob' }).click()
      await row(/^local\/priced.*\$0\.12$/).waitFor()
      await page.getByRole('button', { name: 'user bob' }).click()
      await row(/^Total.*\$0\.24$/).waitFor()
      for (const [by, shown] of [
        ['agent', /^pilot/],
        ['key', /^first admin/],
        ['channel', /^api/],
        ['version', /^draft/],
        ['environment', /^production/],
        ['person', /^no person/],
      ] as const) {
        await page.getByLabel('Group by').selectOption(`by ${by}`)
        await row(shown).waitFor()
      }
      await page.reload()
      await row(/^no person/).waitFor()
      await leave()
    })

    test('the range can be dates, this month, or dragged over a chart', async () => {
      const { page, leave } = await visit('/usage?range=7d', { isStill: true })
      const total = (cost: string) => page.getByRole('row', { name: new RegExp(`^Total.*\\${cost}$`) })
      await total('$0.36').waitFor()
      await page.getByRole('button', { name: 'dates' }).click()
      await total('$0.36').waitFor()
      const day = new Date(Date.now() - 3 * DAY_MS).toISOString().slice(0, 10)
      await page.getByLabel('To', { exact: true }).fill(day)
      await total('$0.12').waitFor()
      assert.equal(new URL(page.url()).searchParams.get('to'), day)
      await page.goBack()
      await total('$0.36').waitFor()

      const box = await page.getByRole('figure', { name: 'Tokens per day' }).locator('.plot').boundingBox()
      assert.ok(box)
      await page.mouse.move(box.x + box.width - 200, box.y + 50)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width - 2, box.y + 60, { steps: 4 })
      await page.mouse.up()
      await total('$0.24').waitFor()
      await page.getByRole('button', { name: 'this month' }).click()
      await page.getByRole('row', { name: /^Total/ }).waitFor()
      assert.match(page.url(), /\?range=month$/)
      await leave()
    })

    test('a model without a price is named, and its cost is never shown as 0', async () => {
      await ask('gull')
      const { page, leave } = await visit('/usage?by=agent', { isStill: true })
      await page.getByText("The total doesn't include 1 call to local/tiny, because the model has no price.").waitFor()
      assert.match(await page.getByRole('row', { name: /^gull/ }).innerText(), /–$/)
      assert.match(await page.getByRole('row', { name: /^Total/ }).innerText(), /at least \$0\.36$/)
      await page.getByText('Set prices for all projects in moorage.yaml').click()
      await page.getByText('- model: local/tiny').waitFor()
      await leave()
    })

    test("receipts, steps and an agent's page link to it", async () => {
      const request_id = await ask('pilot')
      const { page, leave } = await visit(`/activity/${request_id}`)
      await page.locator('.steps', { hasText: '110 tokens' }).getByText('$0.12').waitFor()
      await page.getByRole('link', { name: '$0.12' }).click()
      await page.getByRole('button', { name: `invocation ${request_id}` }).waitFor()
      await page.getByRole('row', { name: /^Total.*\$0\.12$/ }).waitFor()

      await page.goto(`${service().url}/agents/parrot/metrics`)
      await page.getByRole('link', { name: 'Usage and cost' }).click()
      await page.getByRole('button', { name: 'agent parrot' }).waitFor()
      await page.getByRole('row', { name: /^builtin\/echo/ }).waitFor()
      await leave()
    })

    test('each project has its own usage, and a key with access to all projects sees them together', async () => {
      await service().call('POST', '/v1/projects', { body: { name: 'shop' } })
      const shop = inProject(service(), 'shop')
      await createAgent(shop, 'clerk', { model: 'local/priced' })
      const { page, leave } = await visit('/usage?project=shop', { isStill: true })
      await page.getByText('No usage in this range').waitFor()
      await ask('clerk', {}, shop)
      await page.reload()
      await page.getByRole('row', { name: /^Total.*\$0\.12$/ }).waitFor()
      await page.getByLabel('Scope').selectOption('All projects')
      await page.getByRole('row', { name: /^shop.*\$0\.12$/ }).waitFor()
      await page.getByRole('row', { name: /^default.*at least \$/ }).waitFor()
      await leave()

      const { secret: key } = await createKey(shop, { role: 'viewer' })
      const reader = await visit('/usage', { key, isStill: true })
      await reader.page.getByRole('row', { name: /^Total.*\$0\.12$/ }).waitFor()
      assert.equal(await reader.page.getByLabel('Scope').count(), 0)
      await reader.leave()
    })

    test('usage fits on a phone', async () => {
      const { page, settled, leave } = await visit('/usage?by=agent', { width: 390, dark: true, isStill: true })
      await page.getByRole('row', { name: /^Total/ }).waitFor()
      await settled()
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      assert.ok(Number(overflow) <= 0)
      await leave()
    })

    test('large numbers are shown in full in every list, and a model without a price has a dash', async () => {
      const usage = { prompt_tokens: 1_234_567, completion_tokens: 1_000 }
      model.reply({ text: ['Deep.'], usage })
      const body = { message: 'How deep is the sea, and how far is it to the next harbour from here?' }
      const { text, body: reply } = await service().call('POST', '/v1/agents/gull/invoke', { body })
      assert.equal(reply.data?.status ?? 'completed', 'completed', text)
      const { page, go, settled, leave } = await visit('/activity?agent=gull')
      await page.getByRole('cell', { name: '1,235,567' }).waitFor()
      const cut = `[...document.querySelectorAll('td.number, .steps .number')]
        .filter((one) => one.scrollWidth > one.clientWidth)
        .map(({ textContent }) => textContent)`
      assert.deepEqual(await page.evaluate(cut), [])
      await page.getByTitle('The model has no price').first().waitFor()
      for (const path of [`/activity/${reply.data.request_id}`, '/usage']) {
        await go(path)
        await settled()
        await page
          .getByText(/1,23[45],\d{3}/)
          .first()
          .waitFor()
        assert.deepEqual(await page.evaluate(cut), [], path)
      }
      await leave()
    })

    test('totals and bars cover the same days, from their first minute', async () => {
      const firstDay = Math.floor((Date.now() - 30 * DAY_MS) / DAY_MS) * DAY_MS
      const back = Date.now() - (firstDay + 60_000)
      service().advance(-back)
      await ask('pilot', { user_id: 'early' })
      service().advance(back)
      const { page, leave } = await visit('/usage?range=30d&user_id=early', { timezone: 'UTC' })
      const legend = page.getByRole('figure', { name: 'Cost per day' }).locator('.legend')
      await legend.getByText('local/priced: $0.12').waitFor()
      await page.getByRole('row', { name: /^Total 1 / }).waitFor()
      await leave()
    })

    test('dates can be typed digit by digit, and are kept while they are not a valid range', async () => {
      const { page, leave } = await visit('/usage?from=2026-11-01&to=2026-11-10')
      const last = page.getByLabel('To', { exact: true })
      await last.focus()
      await page.keyboard.type('10')
      await page.getByText('The last day is before the first.').waitFor()
      assert.match(page.url(), /to=2026-11-10/)
      await last.blur()
      await last.focus()
      await page.keyboard.type('11132026')
      await page.waitForURL(/from=2026-11-01&to=2026-11-13/)
      assert.equal(await last.inputValue(), '2026-11-13')
      await leave()
    })
  },
  {
    settings: async () => {
      model = await startModelServer()
      return { ...localProvider(model.url), MOORAGE_PRICES: PRICES }
    },
  },
)
