import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inConsole } from './support/console.ts'

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

  test('shows lines as they come, and while the reader is further up it counts them instead', async () => {
    const { page, leave } = await visit('/agents/teller/logs', { isHurried: true })
    const lines = page.getByRole('log').getByRole('listitem')
    await lines.first().waitFor()
    assert.equal(await lines.count(), 60)
    await invoke('a storm')
    await page.getByText('Invocation failed: capsized').waitFor()
    await page.getByRole('log').evaluate((log) => log.scrollTo(0, 0))
    await invoke('sail')
    await page.getByRole('button', { name: '1 new line' }).click()
    await page.getByRole('button', { name: '1 new line' }).waitFor({ state: 'detached' })
    await leave()
  })

  test('level, text and request are filters in the URL, and a line leads to its request', async () => {
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
})
