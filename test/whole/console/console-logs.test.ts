import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import type { Locator } from 'playwright-core'
import { inConsole } from '../../support/console/console.ts'
import { storageOf, storeOf } from '../../support/inside.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import type { Service } from '../../support/service/service.ts'
import { createAgent } from '../../support/slices/resources.ts'

inConsole('the log in the console', (visit, service) => {
  const invoke = (message: string) =>
    service()
      .call('POST', '/v1/agents/teller/invoke', { body: { message } })
      .then(({ body }) => body.request_id ?? body.data.request_id)
  before(async () => {
    const script = { rules: [{ match: { contains: 'storm' }, fail: 'capsized' }], fallback: 'calm' }
    await service().call('POST', '/v1/agents', { body: { name: 'teller', model: 'builtin/script', script } })
    for (let i = 0; i < 60; i++) await invoke('sail')
  })

  test('shows lines as they arrive, and counts them while the user has scrolled up', async () => {
    const { page, leave } = await visit('/agents/teller/logs', { isHurried: true })
    const lines = page.getByRole('log').getByRole('listitem')
    await untilHolds(async () => assert.equal(await lines.count(), 60))
    await invoke('a storm')
    await page.getByText('Invocation failed: capsized').waitFor()
    await scrollTo(page.getByRole('log'), 0)
    await invoke('sail')
    await page.getByRole('button', { name: '1 new line' }).click()
    await page.getByRole('button', { name: '1 new line' }).waitFor({ state: 'detached' })
    await leave()
  })

  test('is followed until the user stops it, and can be followed again', async () => {
    await service().call('POST', '/v1/agents', { body: { name: 'quiet' } })
    const { page, leave } = await visit('/agents/quiet/logs', { isHurried: true })
    await page.getByText('New entries appear automatically.').waitFor()
    await page.getByRole('button', { name: 'Stop following' }).click()
    await page.getByText('New entries appear when you follow the log.').waitFor()
    await service().call('POST', '/v1/agents/quiet/invoke', { body: { message: 'hello' } })
    await page.getByRole('button', { name: 'Follow log' }).click()
    await page.getByText('Invocation completed').waitFor()
    await page.getByRole('button', { name: 'Stop following' }).waitFor()
    await leave()
  })

  test('keeps level, text and request as filters in the URL, and each line links to its request', async () => {
    const request_id = await invoke('a storm')
    const { page, leave } = await visit('/agents/teller/logs')
    await page.getByRole('button', { name: 'error' }).click()
    await page.getByPlaceholder('Search text').fill('capsized')
    await page.waitForURL(/level=error&search=capsized/)
    await page.reload()
    await page.getByText('Invocation failed: capsized').last().waitFor()
    assert.equal(await page.getByText('Invocation completed').count(), 0)
    await page.getByRole('link', { name: 'Playground' }).click()
    await page.getByRole('link', { name: 'Logs' }).click()
    assert.match(page.url(), /level=error&search=capsized/)
    await page.goto(`${service().url}/agents/teller/logs?request=${request_id}&live=off`)
    const lines = page.getByRole('log').getByRole('listitem')
    await lines.first().waitFor()
    assert.ok((await lines.count()) < 4)
    assert.equal(await lines.first().getByRole('link').getAttribute('href'), `/activity/${request_id}`)
    await leave()
  })

  test('misses no lines in a burst', async () => {
    const agent = await createAgent(service(), 'burst')
    await service().call('POST', '/v1/agents/burst/invoke', { body: { message: 'first' } })
    const { page, leave } = await visit('/agents/burst/logs', { isHurried: true })
    await page.getByText('Invocation completed').waitFor()
    await fillLog(service(), agent, 1_500)
    await page.getByText('line 1499', { exact: true }).waitFor()
    await scrollTo(page.getByRole('log'), 0)
    await page.getByText('line 0', { exact: true }).waitFor()
    await leave()
  })

  test('shows the line at a page boundary once', async () => {
    await fillLog(service(), await createAgent(service(), 'edge'), 210)
    const { page, leave } = await visit('/agents/edge/logs')
    await page.getByText('line 209', { exact: true }).waitFor()
    await scrollTo(page.getByRole('log'), 0)
    await page.getByText('line 0', { exact: true }).waitFor()
    assert.equal(await page.getByText('line 10', { exact: true }).count(), 1)
    await leave()
  })

  test('continues past more lines of one millisecond than fit on a page', async () => {
    await fillLog(service(), await createAgent(service(), 'chatter'), 500)
    const db = storeOf(service())
    const time = Date.now() - 60_000
    await db.updateTable('logs').set({ timestamp: time }).where('message', 'like', 'line %').execute()
    await service().call('POST', '/v1/agents/chatter/invoke', { body: { message: 'hello' } })
    const { page, leave } = await visit('/agents/chatter/logs?live=off')
    const log = page.getByRole('log')
    await page.getByText('Invocation completed').waitFor()
    await scrollTo(log, 0)
    const older = page.getByRole('button', { name: 'Older entries' })
    await until('there are no older lines', async () => {
      if ((await older.count()) === 0) return true
      await older.click({ timeout: 1_000 }).catch(() => {})
      return false
    })
    await scrollTo(log, 0)
    await page.getByText('line 0', { exact: true }).waitFor()
    await leave()
  })

  test('with 20,000 lines keeps few in the page, loads older ones on scroll, and keeps its position on reload', async () => {
    await fillLog(service(), await createAgent(service(), 'talker'), 20_000)
    const { page, settled, leave } = await visit('/agents/talker/logs')
    const log = page.getByRole('log')
    await page.getByText('line 19999', { exact: true }).waitFor()
    for (const older of ['once', 'again']) {
      const height = await log.evaluate((element) => element.scrollHeight)
      await scrollTo(log, 0)
      await until(`older lines have come ${older}`, () =>
        log.evaluate((element, known) => element.scrollHeight > known, height),
      )
    }
    assert.ok((await log.getByRole('listitem').count()) < 400)
    await scrollTo(log, 2000)
    const lastSeen = await until('the URL has a line in the window', async () => {
      const line = page.locator(`time[datetime="${new URL(page.url()).searchParams.get('until')}"]`)
      const isThere = (await line.count()) === 1 && (await line.boundingBox({ timeout: 100 }).catch(() => null))
      return isThere && isThere.y > 0 && isThere.y < 900 ? line : undefined
    })
    await settled()
    const place = await lastSeen.boundingBox()
    await service().call('POST', '/v1/agents/talker/invoke', { body: { message: 'more' } })
    await page.getByRole('button', { name: /new lines?$/ }).waitFor()
    assert.deepEqual(await lastSeen.boundingBox(), place)
    await page.reload()
    await lastSeen.waitFor()
    await page.getByRole('button', { name: 'Newest entries' }).click()
    await page.getByText('Invocation completed').waitFor()

    // A search checks 10,000 lines at once. Older matches are loaded when the user asks for them.
    await page.goto(`${service().url}/agents/talker/logs?search=line+77`)
    await page.getByRole('button', { name: 'Older entries' }).click()
    await page.getByText('line 7799', { exact: true }).waitFor()
    await leave()
  })

  test('a level selected while scrolled up shows only its own lines, none of them as new', async () => {
    const { body } = await service().call('POST', '/v1/agents', { body: { name: 'chatty' } })
    await fillLog(service(), body.data.id, 500)
    const { page, settled, leave } = await visit('/agents/chatty/logs')
    await page.getByText('line 499', { exact: true }).waitFor()
    await settled()
    // Older lines come late, after the reader has chosen other ones.
    let release = () => {}
    await page.route(/end_time=/, async (route) => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      await route.continue()
    })
    const older = page.waitForRequest(/end_time=/)
    await scrollTo(page.getByRole('log'), 0)
    await older
    await page.getByRole('button', { name: 'info' }).click()
    await page.waitForURL(/level=info/)
    await page.getByText('line 499', { exact: true }).waitFor()
    assert.equal(await page.getByRole('button', { name: /new lines?$/ }).count(), 0)
    await page.getByRole('button', { name: 'error', exact: true }).click()
    await page.getByRole('button', { name: 'info' }).click()
    await page.getByText('Nothing matches the filters.').waitFor()
    const late = page.waitForResponse(/end_time=/)
    release()
    await late
    await settled()
    await page.getByText('Nothing matches the filters.').waitFor()
    await leave()
  })
})

/** Resolves when the page knows that the reader has scrolled: what comes before that is followed to the end. */
async function scrollTo(log: Locator, top: number): Promise<void> {
  await log.evaluate(
    (element, y) =>
      new Promise((resolve) => {
        if (element.scrollTop === y) return resolve(undefined)
        element.addEventListener('scroll', () => setTimeout(resolve), { once: true })
        element.scrollTo(0, y)
      }),
    top,
  )
}

/** Lines of the last hours, written by the database itself. */
async function fillLog(node: Service, agent_id: string, lines: number): Promise<void> {
  const storage = storageOf(node)
  const agents = storage.db.selectFrom('agents').select('seq').where('id', '=', agent_id)
  const { seq } = await agents.executeTakeFirstOrThrow()
  const numbers = `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${lines - 1}) select i from n`
  const time = `(${Date.now() - 3_600_000} - (${lines} - i) * 1000)`
  await storage.transaction(async (db) => {
    const insert = `insert into logs (agent_seq, timestamp, level, request_id, message, metadata)
      select ${seq}, ${time}, 1, 'req_' || (1000000 + i), 'line ' || i, '{}' from (${numbers}) as n`
    await sql.raw(insert).execute(db)
  })
}
