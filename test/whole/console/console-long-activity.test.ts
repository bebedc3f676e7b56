import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { storageOf } from '../../support/inside.ts'
import { until } from '../../support/running/until.ts'
import type { Service } from '../../support/service/service.ts'
import { createAgent } from '../../support/slices/resources.ts'
import { idInSql } from '../../support/stores/id-in-sql.ts'

inConsole(
  'activity in the console, with 100,000 invocations',
  (visit, service) => {
    before(async () => fill(service(), await createAgent(service(), 'busy'), 100_000))

    const rowsIn = (page: Page) => page.getByRole('region', { name: 'Invocations' }).locator('tbody tr:not(.gap)')

    test('scrolling from the newest to the oldest keeps few rows in the page', async () => {
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

    test('reload and Back keep the position, and Tab moves through the rows', async () => {
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
        const isThere = `document.activeElement.innerText === 'message ${message}' &&
          [...document.querySelectorAll('tbody a')].some(({ innerText }) => innerText === 'message ${message - 3}')`
        await until(`message ${message} has the focus`, () => page.evaluate(isThere))
      }
      await leave()
    })

    test('new rows do not move the visible ones', async () => {
      const { page, settled, leave } = await visit('/activity?offset=1000&status=completed', { isHurried: true })
      const row = rowsIn(page)
        .filter({ hasText: /message 98/ })
        .first()
      await row.waitFor()
      await settled()
      const [text, box] = [await row.textContent(), await row.boundingBox()]
      for (const [message, told] of [
        ['new one', '1 new'],
        ['new two', '2 new'],
      ] as const) {
        await service().call('POST', '/v1/agents/busy/invoke', { body: { message } })
        await page.getByRole('button', { name: told }).waitFor()
      }
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
async function fill(node: Service, agent_id: string, rows: number): Promise<void> {
  const storage = storageOf(node)
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
