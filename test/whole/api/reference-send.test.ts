import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { startPrefixProxy } from '../../support/outside/prefix-proxy.ts'
import { untilHolds } from '../../support/running/until.ts'
import { createKey } from '../../support/slices/resources.ts'

inConsole('sending from the API reference', (visit, service) => {
  test('a signed-in user sends a request and sees the reply, also with a path prefix', async () => {
    const proxy = await startPrefixProxy(service().url, '/tools')
    const { page, leave } = await visit('/docs#invokeAgent', { url: proxy.url })
    const article = page.locator('#invokeAgent')
    await article.getByLabel('Body').fill('{"message": "from the docs"}')
    await article.getByRole('button', { name: 'Send' }).click()
    const answer = article.locator('.send .answer')
    await untilHolds(async () => {
      assert.match(await answer.innerText(), /^200 · \d+ ms · req_[^]*"response": "from the docs"/)
    })
    await page.locator('#listAgents').getByRole('button', { name: 'Send' }).click()
    await page.locator('#listAgents .send .answer').getByText('"name": "hello"').waitFor()
    await leave()
    await proxy.close()
  })

  test('offers only operations that the key has access to, and nothing to signed-out users', async () => {
    const { secret } = await createKey(service(), { role: 'viewer' })
    const reader = await visit('/docs', { key: secret })
    await reader.page.locator('#listAgents .send').waitFor()
    assert.equal(await reader.page.locator('#createAgent .send').count(), 0)
    await reader.leave()
    const stranger = await visit('/docs', { key: null })
    await stranger.page.waitForLoadState('networkidle')
    assert.equal(await stranger.page.locator('.send').count(), 0)
    await stranger.leave()
  })

  test('on a phone, the list of operations is collapsed until the user opens it', async () => {
    const { page, leave } = await visit('/docs', { width: 390 })
    const operations = page.locator('aside nav')
    await operations.waitFor({ state: 'hidden' })
    await page.locator('aside summary').click()
    await operations.waitFor()
    await page
      .getByRole('link', { name: /^Create an API key/ })
      .first()
      .click()
    await operations.waitFor({ state: 'hidden' })
    await page.locator('#createKey h3').waitFor()
    await leave()
  })
})
