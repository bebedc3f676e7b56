import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { storeOf } from '../../support/inside.ts'
import { untilHolds } from '../../support/running/until.ts'
import { createAgent } from '../../support/slices/resources.ts'

inConsole('activity in the console', (visit, service) => {
  const invoke = async (message: string, user_id = 'ann', session_id = 's-1', environment = 'production') => {
    const body = { message, context: { user_id, session_id }, environment }
    const reply = await service().call('POST', '/v1/agents/pilot/invoke', { body })
    return reply.body.request_id ?? reply.body.data.request_id
  }
  before(async () => {
    const script = { rules: [{ match: { contains: 'reef' }, fail: 'aground' }], fallback: 'Aye.' }
    await createAgent(service(), 'pilot', { model: 'builtin/script', script })
    for (const message of ['first', 'a reef', 'second', 'another reef']) await invoke(message)
  })

  test('updates live, keeps its filters in the URL, and Next respects the filter', async () => {
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
    await page.getByText('This is the last run in the list.').waitFor()
    await page.goBack()
    await page.goBack()
    await untilHolds(async () => assert.equal(await page.getByLabel('Status').inputValue(), 'failed'))
    await page.getByLabel('Channel').selectOption('mcp')
    await page.getByText('Nothing matches the filters.').waitFor()
    const filters = page.getByRole('group', { name: 'Active filters' })
    assert.deepEqual(await filters.getByRole('button').allInnerTexts(), [
      'Status: failed',
      'Channel: mcp',
      'Clear filters',
    ])
    await filters.getByRole('button', { name: 'Channel: mcp' }).click()
    await page.getByRole('link', { name: 'another reef' }).waitFor()
    await page.getByLabel('Channel').selectOption('mcp')
    await page.locator('.empty').getByRole('button', { name: 'Clear filters' }).click()
    await page.getByRole('link', { name: 'a third one' }).waitFor()
    assert.equal(await filters.count(), 0)
    await invoke('of another session', 'ann', 's-2')
    await invoke('of another user', 'bea', 's-3')
    for (const [filter, message] of [
      ['session=s-2', 'of another session'],
      ['user=bea', 'of another user'],
    ] as const) {
      await page.goto(`${service().url}/activity?${filter}`)
      await page.getByRole('link', { name: message }).waitFor()
      assert.equal(await page.getByRole('link', { name: 'first' }).count(), 0)
      assert.equal(await page.getByRole('link', { name: /^of another/ }).count(), 1)
    }
    await leave()
  })

  test('a run opened by a link has Previous and Next, however many runs are newer', async () => {
    const request_id = await invoke('long ago')
    for (let i = 0; i < 104; i++) await invoke(`newer ${i}`)
    const { page, leave } = await visit(`/activity/${request_id}`)
    await page.getByText('long ago', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Previous in the list' }).click()
    await page.getByText('newer 0', { exact: true }).waitFor()
    await page.goto(`${service().url}/activity/${request_id}?status=failed`)
    await page.getByRole('button', { name: 'Next in the list' }).click()
    await page.getByText("This run isn't in the list").waitFor()
    await leave()
  })

  test("a run's page shows its result, what it wrote, and can run it again", async () => {
    const request_id = await invoke('Where is the harbour?', 'bob', 's-1', 'staging')
    const { page, leave } = await visit(`/activity/${request_id}`, { isHurried: true })
    await page.getByText('Where is the harbour?', { exact: true }).waitFor()
    await page.getByText('Aye.', { exact: true }).waitFor()
    await page.getByText('Invocation completed').waitFor()
    await page.getByRole('link', { name: 'first admin key' }).waitFor()
    await page.getByText('Memories and deliveries').click()
    await page.getByText('No webhooks notified.').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Where is the harbour?' }).waitFor()
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(request_id))
    await page.getByText('completed').first().waitFor()
    const path = new URL(page.url()).pathname.replace('/activity', '/v1/agents/pilot/invocations')
    const { message, context, environment } = (await service().call('GET', path)).body.data
    assert.deepEqual(
      { message, context, environment },
      { message: 'Where is the harbour?', context: { user_id: 'bob', session_id: 's-1' }, environment: 'staging' },
    )
    await leave()
  })

  test("a step opens to its input and output: memories with scores, the prompt, a tool's result", async () => {
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
    await steps.nth(2).getByText('Error').waitFor()

    await steps.nth(3).locator('summary').first().click()
    await steps.nth(3).getByText('Prompt').click()
    const roles = steps.nth(3).locator('.prompt h4')
    await roles.nth(5).waitFor()
    assert.deepEqual(await roles.allInnerTexts(), ['system', 'user', 'assistant', 'user', 'assistant', 'tool tide'])
    await steps.nth(3).getByText('You are the mate of a ship.').waitFor()
    await leave()
  })

  test('recalled memories that the model did not get are marked', async () => {
    await createAgent(service(), 'purser', { limits: { max_input_tokens: 400 } })
    const context = { user_id: 'bea' }
    const items = ['Bea pays in gold', `Bea pays late. ${'Bea pays. '.repeat(400)}`].map((content) => ({
      content,
      context,
    }))
    await service().call('POST', '/v1/agents/purser/memory', { body: { items } })
    const asked = { body: { message: 'How does Bea pay?', context } }
    const { request_id } = (await service().call('POST', '/v1/agents/purser/invoke', asked)).body.data
    const { page, leave } = await visit(`/activity/${request_id}`)
    const recall = page.locator('.steps > li').first()
    await recall.locator('summary').first().click()
    const recalled = recall.locator('.recalled li')
    await recalled.nth(1).waitFor()
    const marked = (await recalled.allInnerTexts()).map((text) => [
      /Bea pays (\w+)/.exec(text)?.[1],
      /left out/.test(text),
    ])
    assert.deepEqual(marked.toSorted(), [
      ['in', false],
      ['late', true],
    ])
    await leave()
  })

  test('durations are shown in readable units', async () => {
    await createAgent(service(), 'timed')
    const took = { '999 ms': 999, '9.99 s': 9_990, '10.0 s': 9_996, '59.9 s': 59_940, '1 min 0 s': 59_960 }
    const longer = { '1 min 45 s': 105_000, '2 min 0 s': 119_600, '2 min 5 s': 125_400, '59 min 59 s': 3_599_400 }
    const hours = { '1 h 0 min': 3_599_600, '1 h 30 min': 5_400_000 }
    const texts = Object.entries({ ...took, ...longer, ...hours })
    for (const [i, [, duration_ms]] of texts.entries()) {
      const { body } = await service().call('POST', '/v1/agents/timed/invoke', { body: { message: `run ${i}` } })
      const runs = storeOf(service()).updateTable('invocations').set({ duration_ms })
      await runs.where('id', '=', body.data.request_id).execute()
    }
    const { page, leave } = await visit('/activity?agent=timed')
    for (const [i, [text]] of texts.entries()) {
      await page
        .getByRole('row', { name: `run ${i}` })
        .getByRole('cell', { name: text, exact: true })
        .waitFor()
    }
    await leave()
  })

  test('an active run can be cancelled', async () => {
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
