import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import type { Page } from 'playwright-core'
import { checkAccess } from '../support/clients/check-access.ts'
import { inConsole } from '../support/console/console.ts'
import { until, untilHolds } from '../support/running/until.ts'
import type { Service } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'
import { idInSql } from '../support/stores/id-in-sql.ts'

inConsole('activity in the console', (visit, service) => {
  const invoke = async (message: string, user_id = 'ann') => {
    const body = { message, context: { user_id, session_id: 's-1' } }
    const reply = await service().call('POST', '/v1/agents/pilot/invoke', { body })
    return reply.body.request_id ?? reply.body.data.request_id
  }
  before(async () => {
    const script = { rules: [{ match: { contains: 'reef' }, fail: 'aground' }], fallback: 'Aye.' }
    await createAgent(service(), 'pilot', { model: 'builtin/script', script })
    for (const message of ['first', 'a reef', 'second', 'another reef']) await invoke(message)
  })

  test('is live, filters in the URL, and the next request follows the filter', async () => {
    const { page, leave } = await visit('/activity', { isHurried: true })
    await page.getByRole('link', { name: 'another reef' }).waitFor()
    await invoke('a third one')
    await page.getByRole('link', { name: 'a third one' }).waitFor()
    await page.getByLabel('Status').selectOption('failed')
    await page.getByRole('link', { name: 'a third one' }).waitFor({ state: 'detached' })
    assert.match(page.url(), /status=failed/)
    await page.getByRole('link', { name: 'another reef' }).click()
    await page.getByText('aground').first().waitFor()
    await page.getByRole('button', { name: 'Next in the list' }).click()
    await page.getByText('a reef', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Next in the list' }).click()
    await page.getByText('This is the last one').waitFor()
    await page.goBack()
    await page.goBack()
    await untilHolds(async () => assert.equal(await page.getByLabel('Status').inputValue(), 'failed'))
    await page.getByLabel('Door').selectOption('mcp')
    await page.getByText('Nothing matches').waitFor()
    await page.getByLabel('Door').selectOption('api')
    await page.getByRole('link', { name: 'another reef' }).waitFor()
    await leave()
  })

  test('one request: what came of it, what it left, and running it again', async () => {
    const request_id = await invoke('Where is the harbour?', 'bob')
    const { page, leave } = await visit(`/activity/${request_id}`, { isHurried: true })
    await page.getByText('Where is the harbour?', { exact: true }).waitFor()
    await page.getByText('Aye.', { exact: true }).waitFor()
    await page.getByText('Invocation completed').waitFor()
    await page.getByRole('link', { name: 'first admin key' }).waitFor()
    await page.getByText('What it left').click()
    await page.getByText('No webhook was told.').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Where is the harbour?' }).waitFor()
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(request_id))
    await page.getByText('completed').first().waitFor()
    await leave()
  })

  test('its steps open to what went in and came out: memories with scores, what the model was shown, what a tool said', async () => {
    await createAgent(service(), 'mate', {
      model: 'builtin/script',
      instructions: 'You are the mate of a ship.',
      tools: [{ type: 'http', name: 'tide', url: 'http://127.0.0.1:1/tide' }],
      script: {
        rules: [{ match: { contains: 'tide' }, call: { tool: 'tide', arguments: { port: 'Kiel' } }, reply: 'High.' }],
      },
    })
    const note = { content: 'Ann asks about the tide at Kiel', context: { user_id: 'ann' } }
    await service().call('POST', '/v1/agents/mate/memory', { body: { items: [note] } })
    const context = { user_id: 'ann', session_id: 's-9' }
    const ask = (message: string) => service().call('POST', '/v1/agents/mate/invoke', { body: { message, context } })
    await ask('hello')
    const { body } = await ask('How is the tide?')
    const { page, leave } = await visit(`/activity/${body.data.request_id}`)
    const steps = page.locator('.steps > li')
    await steps.nth(3).waitFor()
    assert.deepEqual(await steps.locator('.name').allInnerTexts(), ['recall', 'model', 'tide', 'model'])

    await steps.nth(0).locator('summary').first().click()
    await steps.nth(0).getByText('Ann asks about the tide at Kiel').waitFor()
    assert.match(await steps.nth(0).locator('.recalled .number').first().innerText(), /^[01]\.\d\d$/)

    await steps.nth(2).locator('summary').first().click()
    await steps.nth(2).getByText('"port": "Kiel"').waitFor()
    await steps.nth(2).getByText('Failed').waitFor()

    await steps.nth(3).locator('summary').first().click()
    await steps.nth(3).getByText('What the model was shown').click()
    const roles = steps.nth(3).locator('.prompt h4')
    await roles.nth(5).waitFor()
    assert.deepEqual(await roles.allInnerTexts(), ['system', 'user', 'assistant', 'user', 'assistant', 'tool tide'])
    await steps.nth(3).getByText('You are the mate of a ship.').waitFor()
    await leave()
  })

  test('a run that goes on can be cancelled', async () => {
    const script = { rules: [{ reply: 'at last', delay_ms: 30_000 }] }
    await createAgent(service(), 'slow', { model: 'builtin/script', script })
    const headers = { Prefer: 'respond-async' }
    const { body } = await service().call('POST', '/v1/agents/slow/invoke', { body: { message: 'wait' }, headers })
    const { page, leave } = await visit(`/activity/${body.data.request_id}`, { isHurried: true })
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('cancelled').first().waitFor()
    await leave()
  })
})

inConsole(
  'activity in the console, with 100,000 invocations',
  (visit, service) => {
    before(async () => fill(service(), await createAgent(service(), 'busy'), 100_000))

    const rowsIn = (page: Page) => page.getByRole('region', { name: 'Invocations' }).locator('tbody tr:not(.gap)')

    test('scrolls from the newest to the oldest with few rows in the page', async () => {
      const { page, asked, leave } = await visit('/activity', { isStill: true })
      await page.getByRole('link', { name: 'message 99999', exact: true }).waitFor()
      await page.getByText(/^1–\d+ of 100,000$/).waitFor()
      assert.ok((await rowsIn(page).count()) < 80)
      asked()
      await page.getByRole('region', { name: 'Invocations' }).focus()
      await page.keyboard.press('End')
      await page.getByRole('link', { name: 'message 0', exact: true }).waitFor()
      await page.getByText(/–100,000 of 100,000$/).waitFor()
      assert.ok((await rowsIn(page).count()) < 80)
      assert.ok(asked().length <= 3, 'what is scrolled past is not asked for')
      const last = rowsIn(page).last()
      assert.equal(await last.getAttribute('aria-rowindex'), '100001')
      await page.keyboard.press('Home')
      await page.getByRole('link', { name: 'message 99999', exact: true }).waitFor()
      await checkAccess(page)
      await leave()
    })

    test('reload and back find the place again, and tabbing goes through the rows', async () => {
      const { page, leave } = await visit('/activity?offset=50000')
      const wanted = page.getByRole('link', { name: 'message 49999', exact: true })
      await wanted.waitFor()
      await page.getByText(/^50,001–/).waitFor()
      await page.getByRole('region', { name: 'Invocations' }).evaluate((list) => list.scrollBy(0, 3600))
      await page.waitForURL(/offset=50100/)
      await page.reload()
      await page.getByRole('link', { name: 'message 49899', exact: true }).click()
      await page.getByRole('heading', { name: /^req_/ }).waitFor()
      await page.goBack()
      await page.getByText(/^50,101–/).waitFor()
      await page.getByRole('link', { name: 'message 49899', exact: true }).focus()
      for (let message = 49_898; message >= 49_839; message--) {
        await page.keyboard.press('Tab')
        // Nobody is faster than the page that draws the next rows.
        const isThere = `document.activeElement.textContent === 'message ${message}' &&
          [...document.querySelectorAll('tbody a')].some(({ textContent }) => textContent === 'message ${message - 3}')`
        await until(`message ${message} has the focus`, () => page.evaluate(isThere))
      }
      await leave()
    })

    test('what comes does not move the rows that somebody looks at', async () => {
      const { page, settled, leave } = await visit('/activity?offset=1000&status=completed', { isHurried: true })
      const row = rowsIn(page)
        .filter({ hasText: /message 98/ })
        .first()
      await row.waitFor()
      await settled()
      const [text, box] = [await row.textContent(), await row.boundingBox()]
      for (const message of ['new one', 'new two']) {
        await service().call('POST', '/v1/agents/busy/invoke', { body: { message } })
      }
      await page.getByRole('button', { name: '2 new' }).waitFor()
      const same = rowsIn(page)
        .filter({ hasText: /message 98/ })
        .first()
      assert.deepEqual([await same.textContent(), await same.boundingBox()], [text, box])
      await page.getByRole('button', { name: '2 new' }).click()
      await page.getByRole('link', { name: 'new two' }).waitFor()
      await page.getByLabel('Status').selectOption('failed')
      await page.getByText(/^1–\d+ of 2,000$/).waitFor()
      await leave()
    })
  },
  // The rows are older than others are kept.
  { settings: { MOORAGE_RETENTION__INVOCATIONS: '36500d' } },
)

/** Rows that the database writes itself, as the runs of a month would. */
async function fill({ app }: Service, agent_id: string, rows: number): Promise<void> {
  const { storage } = app.parts
  const agents = storage.db.selectFrom('agents').select('seq').where('id', '=', agent_id)
  const { seq } = await agents.executeTakeFirstOrThrow()
  const time = `(${Date.UTC(2026, 9, 1)} + i * ${Math.floor((30 * 86_400_000) / rows)})`
  const numbers = `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${rows - 1}) select i from n`
  const insert = `insert into invocations (id, agent_seq, status, attempt, background, environment, message, context, user_id, session_id,
    response, input_tokens, output_tokens, tokens_used, duration_ms, steps, created_by, created_at, started_at, finished_at)
    select ${idInSql(time)}, ${seq}, case when i % 50 = 7 then 'failed' else 'completed' end, 1, 0, 'production',
    'message ' || i, '{}', 'user-' || (i % 100), 'session-' || (i / 20), 'r', 1, 1, 2, i % 900, '[]', 'key_1', ${time}, ${time}, ${time}
    from (${numbers}) as n`
  await storage.transaction(async (db) => {
    await sql.raw(insert).execute(db)
  })
}
