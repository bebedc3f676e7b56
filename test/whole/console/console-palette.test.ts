import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

inConsole('finding things in the console', (visit, service) => {
  before(() => createAgent(service(), 'harbour'))

  test('Ctrl+K finds pages, agents and commands by a few letters, without a mouse', async () => {
    const { page, leave } = await visit('/keys')
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Search pages, commands and agents, or paste an ID' })
    await field.fill('harb log')
    await page.getByRole('option', { name: 'harbour › Logs' }).waitFor()
    await checkAccess(page)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/agents/harbour/logs')
    await page.keyboard.press('Control+k')
    await field.fill('new agent')
    await page.getByRole('option', { name: 'New agent', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('quay')
    await page.getByRole('dialog').getByText('Repeats each message').click()
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByRole('heading', { name: 'quay' }).waitFor()
    // What was made is not asked for again.
    await page.getByRole('link', { name: 'Agents', exact: true }).first().click()
    await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.keyboard.press('Control+k')
    await field.waitFor()
    // Pages come before what can be done with each agent.
    await field.fill('deploy')
    await untilHolds(async () => {
      const found = (await page.getByRole('option').allTextContents()).map((label) => label.replace(/^.* › /, ''))
      assert.deepEqual(found, ['Deployments', 'Deployments', 'Deployments', 'Deploy', 'Deploy', 'Deploy'])
    })
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    await leave()
  })

  test('commands open the same dialogs as buttons, and do the same', async () => {
    const { page, expect, leave } = await visit('/agents/harbour')
    const say = async (text: string, command: string) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /paste an ID/ }).fill(text)
      // The agents may come later than the text.
      await page.getByRole('option', { name: command, selected: true }).waitFor()
      await page.keyboard.press('Enter')
    }
    await page.getByRole('heading', { name: 'harbour' }).waitFor()
    await page.getByText('running').first().waitFor()
    await say('deploy', 'harbour › Deploy')
    await page.getByRole('dialog', { name: 'Deploy harbour' }).waitFor()
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await say('pause', 'harbour › Pause')
    await page.getByRole('button', { name: 'Pause agent' }).click()
    await page.getByText('harbour paused').waitFor()
    await page.getByText('paused', { exact: true }).waitFor()
    await say('harb resume', 'harbour › Resume')
    await page.getByText('harbour resumed').waitFor()
    await say('new key', 'New key')
    await page.getByRole('dialog', { name: 'New key' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await say('dark', 'Use dark colors')
    await until('dark colors', () => page.evaluate(`getComputedStyle(document.body).colorScheme === 'dark'`))
    // The page's last requests are refused.
    expect(/status of 401/)
    await say('sign out', 'Sign out')
    await page.getByRole('heading', { name: 'Sign in to Moorage' }).waitFor()
    await leave()
  })

  test('a read-only key is offered no command that changes anything', async () => {
    const { secret: key } = await createKey(service(), { name: 'a reader', role: 'viewer' })
    const { page, leave } = await visit('/agents/harbour', { key })
    await page.getByRole('heading', { name: 'harbour' }).waitFor()
    await page.keyboard.press('Control+k')
    for (const word of ['new', 'deploy', 'pause', 'invoke', 'delete', 'roll back']) {
      await page.getByRole('combobox', { name: /paste an ID/ }).fill(word)
      const found = await page.getByRole('listbox').getByRole('option').allTextContents()
      assert.deepEqual(
        found.filter((label) => !label.endsWith(' › Deployments')),
        [],
      )
    }
    await leave()
  })

  test('a dialog closes when the user leaves its page, even before the next page has loaded', async () => {
    const { page, leave } = await visit('/')
    await page.getByRole('link', { name: 'harbour' }).waitFor()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/all-pages/, async (route) => {
      await held
      await route.continue()
    })
    const openAndLeave = async () => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /paste an ID/ }).fill('harbour')
      await page.getByRole('option').first().click()
      await page.waitForURL('**/agents/harbour')
      await untilHolds(async () => assert.equal(await page.getByRole('dialog').count(), 0))
      await page.goBack()
      await page.goBack()
      await page.getByRole('link', { name: 'harbour' }).waitFor()
      await untilHolds(async () => assert.equal(await page.getByRole('dialog').count(), 0))
    }
    // The dialog comes with the other pages.
    await page.getByRole('button', { name: 'New agent' }).click()
    await openAndLeave()
    release()
    await page.getByRole('button', { name: 'New agent' }).click()
    await page.getByRole('dialog').waitFor()
    await openAndLeave()
    await leave()
  })

  test('a pasted ID opens its page', async () => {
    const { id } = await createKey(service(), { name: 'a pasted one', role: 'viewer' })
    const { body } = await service().call('POST', '/v1/agents/harbour/invoke', { body: { message: 'moor here' } })
    const deployed = { environment: 'production', version: 'v1.0.0' }
    const made = await service().call('POST', '/v1/agents/harbour/deployments', { body: deployed })
    const { page, leave } = await visit('/')
    for (const [pasted, shown] of [
      [made.body.data.id, 'v1.0.0 in production'],
      [body.data.request_id, 'moor here'],
      [id, 'a pasted one'],
    ]) {
      await page.getByRole('button', { name: 'Find' }).click()
      await page.getByRole('combobox', { name: /paste an ID/ }).fill(` ${pasted} `)
      await page.getByRole('option', { name: pasted, selected: true }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByText(shown).first().waitFor()
      assert.match(page.url(), new RegExp(pasted))
    }
    await leave()
  })

  test('closing the palette returns the focus', async () => {
    const { page, settled, leave } = await visit('/activity')
    await settled()
    await page.getByLabel('Session ID').focus()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /paste an ID/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('combobox', { name: /paste an ID/ }).waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Session ID')
    await leave()
  })

  test('the palette opens at any URL, even one with a stray percent sign', async () => {
    const { page, go, expect, leave } = await visit('/activity')
    expect(/404|400/)
    await go('/agents/100%')
    await page.getByText('Agent not found').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /paste an ID/ }).waitFor()
    await leave()
  })
})
