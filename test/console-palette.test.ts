import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ConsoleBrowser, checkAccess, openBrowser, withoutChromium } from './support/console.ts'
import { createAgent, createKey } from './support/resources.ts'
import { type Service, startService } from './support/service.ts'

describe('finding things in the console', { skip: withoutChromium() }, () => {
  let browser: ConsoleBrowser
  let service: Service
  before(async () => {
    browser = await openBrowser()
    service = await startService('sqlite')
    await createAgent(service, 'harbour')
  })
  after(async () => {
    await browser.close()
    await service.stop()
  })

  test('Ctrl+K finds pages, agents and commands by a few letters, without the mouse', async () => {
    const { page, leave } = await browser.visit(service, '/keys')
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'A page, an agent, or any id' })
    await field.fill('harb log')
    await page.getByRole('option', { name: 'harbour › Logs' }).waitFor()
    await checkAccess(page)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/agents/harbour/logs')
    await page.keyboard.press('Control+k')
    await field.fill('new')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Name').fill('quay')
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByRole('heading', { name: 'quay' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    await leave()
  })

  test('a pasted id opens its page', async () => {
    const { id } = await createKey(service, { name: 'a pasted one', role: 'viewer' })
    const { body } = await service.call('POST', '/v1/agents/harbour/invoke', { body: { message: 'moor here' } })
    const { page, leave } = await browser.visit(service, '/')
    for (const [pasted, shown] of [
      [body.data.request_id, 'moor here'],
      [id, 'a pasted one'],
    ]) {
      await page.getByRole('button', { name: 'Find' }).click()
      await page.getByRole('combobox').fill(` ${pasted} `)
      await page.keyboard.press('Enter')
      await page.getByText(shown).first().waitFor()
      assert.match(page.url(), new RegExp(pasted))
    }
    await leave()
  })
})
