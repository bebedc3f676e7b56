import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { inConsole } from '../../support/console/console.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { startModelServer } from '../../support/outside/model-server.ts'
import { createAgent } from '../../support/slices/resources.ts'

/** Puts the cursor behind this text. */
const cursorAfter = async (page: Page, text: string) => {
  await page.getByLabel('Definition').focus()
  await page.evaluate(`{
    const field = document.activeElement
    const at = field.value.indexOf(${JSON.stringify(text)}) + ${text.length}
    field.setSelectionRange(at, at)
  }`)
}

inConsole(
  'the YAML of the console',
  (visit, service) => {
    const yamlOf = (page: Page) => page.getByLabel('Definition').inputValue()

    test('completes values at the cursor, with descriptions from the API', async (t) => {
      const model = await startModelServer()
      t.after(() => model.close())
      await service().call('PUT', '/v1/providers/local', { body: { base_url: model.url } })
      await createAgent(service(), 'offered')
      const { page, settled, leave } = await visit('/agents/offered/settings?view=yaml')
      await page.getByLabel('Definition').focus()
      await settled()
      const words = page.getByRole('listbox', { name: 'Words' })

      await cursorAfter(page, 'tools: ')
      await page.keyboard.press('Delete')
      await page.keyboard.press('Delete')
      await page.keyboard.press('Enter')
      await page.keyboard.type('- ty')
      await words.getByText('type').waitFor()
      await page.keyboard.press('Enter')
      await page.keyboard.type('ht')
      await words.getByText('http').waitFor()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.keyboard.type('me')
      await words.getByText('method').waitFor()
      await words.getByText('method').click()
      await page.keyboard.type('PO')
      await page.keyboard.press('Enter')
      assert.match(await yamlOf(page), /tools: *\n {2}- type: http\n {4}method: POST\n/)

      await cursorAfter(page, 'model: ')
      await page.keyboard.press('Control+Delete')
      await page.keyboard.press('Control+Delete')
      await page.keyboard.press('Control+Delete')
      await page.keyboard.type('tiny')
      await words.getByText('local/tiny', { exact: true }).click()
      assert.match(await yamlOf(page), /model: local\/tiny/)
      await page.keyboard.press('Control+z')
      assert.doesNotMatch(await yamlOf(page), /model: local\/tiny\n/)
      await leave()
    })

    test('an error is shown at its line, both for invalid YAML and for refused fields', async () => {
      await createAgent(service(), 'mistaken')
      const { page, expect, leave } = await visit('/agents/mistaken/settings?view=yaml')
      const text = page.getByLabel('Definition')
      const yaml = await yamlOf(page)
      const marked = () => page.locator('.editor .numbers .y-bad').allTextContents()
      await text.fill(yaml.replace('limits:', 'limits: {'))
      await page.getByText(/^Line \d+: /).waitFor()
      assert.equal((await marked()).length, 1)
      // The fields cannot show it: the text stays.
      await page.getByRole('button', { name: 'Form' }).click()
      assert.equal(await text.count(), 1)
      expect(/400/)
      const wrong = yaml.replace('history: 20', 'history: -1')
      await text.fill(wrong)
      await page.getByRole('button', { name: 'Save' }).click()
      const line = wrong.slice(0, wrong.indexOf('history: -1')).split('\n').length
      await page.getByText(`Line ${line}: `).waitFor()
      assert.deepEqual(await marked(), [String(line)])
      await text.fill(yaml)
      await leave()
    })
  },
  { settings: LOCAL_TOOLS },
)

inConsole('unsaved settings in the console', (visit, service) => {
  test('are the same in every view, survive a reload, and trigger a question before leaving', async () => {
    await createAgent(service(), 'draft')
    const { page, leave } = await visit('/agents/draft/settings')
    page.on('dialog', (dialog) => void dialog.accept())
    await page.getByLabel('Instructions').fill('Be brief.')
    await page.getByRole('button', { name: 'YAML' }).click()
    const text = page.getByLabel('Definition')
    await text.fill((await text.inputValue()).replace('Be brief.', 'Be very brief.'))
    await page.getByRole('button', { name: 'Form' }).click()
    assert.equal(await page.getByLabel('Instructions').inputValue(), 'Be very brief.')
    await page.reload()
    assert.equal(await page.getByLabel('Instructions').inputValue(), 'Be very brief.')

    const dialog = page.getByRole('dialog', { name: 'Unsaved changes' })
    await page.getByRole('link', { name: 'Logs' }).click()
    await dialog.getByRole('button', { name: 'Stay' }).click()
    assert.match(page.url(), /settings/)
    await page.getByRole('link', { name: 'Logs' }).click()
    await dialog.getByRole('button', { name: 'Leave and keep changes' }).click()
    await page.waitForURL(/logs$/)
    await page.getByRole('link', { name: 'Settings' }).click()
    assert.equal(await page.getByLabel('Instructions').inputValue(), 'Be very brief.')
    // The browser's own button asks, too.
    await page.goBack()
    await dialog.getByRole('button', { name: 'Discard changes' }).click()
    await page.waitForURL(/logs$/)
    await page.getByRole('link', { name: 'Settings' }).click()
    assert.equal(await page.getByLabel('Instructions').inputValue(), '')
    assert.equal((await service().call('GET', '/v1/agents/draft')).body.data.instructions, null)
    await leave()
  })

  test('numbers are saved as typed, including decimals; other text is refused at its field', async () => {
    await createAgent(service(), 'measured', { limits: { max_cost_per_run: 0.5 } })
    const { page, expect, leave } = await visit('/agents/measured/settings')
    expect(/400/)
    const typed = { Temperature: '0.7', 'Max cost per run (USD)': '0.7.5', 'Max steps': 'few' }
    for (const [label, value] of Object.entries(typed)) await page.getByLabel(label).fill(value)
    await page.getByRole('button', { name: 'Save' }).click()
    const wrong = page.locator('.field .wrong')
    await wrong.getByText('Max steps must be a whole number').waitFor()
    await wrong.getByText('Max cost per run (USD) must be a number').waitFor()
    assert.equal((await service().call('GET', '/v1/agents/measured')).body.data.limits.max_cost_per_run, 0.5)
    // What is changed is not wrong any more.
    await page.getByLabel('Max cost per run (USD)').fill('.05')
    assert.equal(await wrong.count(), 1)
    await page.getByLabel('Max steps').fill('3')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    const { temperature, limits } = (await service().call('GET', '/v1/agents/measured')).body.data
    assert.deepEqual([temperature, limits.max_cost_per_run, limits.max_steps], [0.7, 0.05, 3])
    await leave()
  })

  test("show that someone else changed the agent, and saving writes only the user's own changes", async () => {
    await createAgent(service(), 'shared')
    const { page, leave } = await visit('/agents/shared/settings')
    page.on('dialog', (dialog) => void dialog.accept())
    await page.getByLabel('Instructions').fill('Mine')
    await service().call('PATCH', '/v1/agents/shared', { body: { temperature: 0.5 } })
    await page.reload()
    await page.getByText('else changed this agent while you were editing').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    const { instructions, temperature } = (await service().call('GET', '/v1/agents/shared')).body.data
    assert.deepEqual([instructions, temperature], ['Mine', 0.5])
    assert.equal(await page.getByText('else changed this agent while you were editing').count(), 0)
    await leave()
  })

  test('are discarded on sign-out, and not visible to another key', async () => {
    await createAgent(service(), 'left')
    const { page, leave } = await visit('/agents/left/settings')
    await page.getByLabel('Instructions').fill('Secret plan')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Key').waitFor()
    assert.equal(await page.evaluate('JSON.stringify(sessionStorage)'), '{}')
    await leave()
  })
})
