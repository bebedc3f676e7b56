import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { until } from '../../support/running/until.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

inConsole('metrics, memory, schedules and settings in the console', (visit, service) => {
  const say = (agent: string, message: string, context = {}) =>
    service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })

  test('metrics: numbers, charts and a table; dragging over a chart zooms in and changes the URL', async () => {
    await createAgent(service(), 'busy', {
      model: 'builtin/script',
      script: { rules: [{ match: { equals: 'no' }, fail: 'no' }] },
    })
    for (const message of ['a', 'b', 'c', 'no']) await say('busy', message)
    await service().call('POST', '/v1/agents/busy/deployments', { body: { environment: 'production', version: 'v1' } })
    const { page, settled, leave } = await visit('/agents/busy/metrics?range=1h', { isStill: true })
    await page.getByText('1 (25%)').waitFor()
    await settled()
    const chart = page.getByRole('figure', { name: 'Response time' })
    // Without a pointer the legend has the totals, and the chart begins where its data does.
    const requests = page.getByRole('figure', { name: /^Requests/ })
    assert.match(await requests.locator('.legend').innerText(), /^In total\s+Requests: 4$/)
    const ticks = await requests.locator('.tick text').allTextContents()
    const hours = new Set(ticks.filter((text) => text.includes(':')).map((text) => text.slice(0, 2)))
    assert.ok(hours.size <= 2, `a new agent's chart has the last few minutes: ${ticks}`)
    const box = await chart.locator('.plot').boundingBox()
    assert.ok(box && box.width > 300)
    await page.mouse.move(box.x + 100, box.y + 50)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width - 2, box.y + 50, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('button', { name: 'Reset zoom' }).waitFor()
    const { searchParams } = new URL(page.url())
    assert.ok(Date.parse(searchParams.get('from') ?? '') < Date.parse(searchParams.get('to') ?? ''))
    await page.getByText('1 (25%)').waitFor()
    await page.getByText('View as table').click()
    await page.getByRole('region', { name: 'Metrics' }).getByRole('row').nth(1).waitFor()
    await page.goBack()
    assert.match(page.url(), /range=1h$/)
    await page.getByRole('button', { name: 'API', exact: true }).click()
    await page.getByRole('button', { name: 'TypeScript' }).click()
    const call = page.getByLabel('request', { exact: true })
    await call.getByText('moorage.metrics').waitFor()
    assert.match(await call.innerText(), /moorage\.metrics\.performance\('busy', \{ start_time: '20[^']+Z' \}\)/)
    await leave()
  })

  test('memory: searched, noted, corrected, by user, and cleared after the name was typed', async () => {
    await createAgent(service(), 'friend')
    await say('friend', 'I keep bees on the roof', { user_id: 'ann', session_id: 's1' })
    await say('friend', 'The weather is fine', { user_id: 'bob', session_id: 's2' })
    const { page, leave } = await visit('/agents/friend/memory')
    await page.getByLabel('Search memories').fill('bees')
    await page.getByRole('cell', { name: 'words' }).first().waitFor()
    assert.match(page.url(), /search=bees/)
    await page.reload()
    await page.getByRole('button', { name: 'I keep bees' }).first().click()
    await page.getByLabel('Content').fill('I keep wasps on the roof')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Memory updated').waitFor()

    // Another view begins at its first page.
    await page.goto(`${service().url}/agents/friend/memory?offset=25`)
    await page.getByRole('button', { name: 'Users', exact: true }).click()
    await page.getByRole('link', { name: 'bob' }).click()
    await page.getByRole('button', { name: 'The weather is fine' }).first().waitFor()
    assert.equal(await page.getByRole('button', { name: 'I keep' }).count(), 0)
    await page.getByRole('button', { name: 'Add note' }).click()
    await page.getByLabel('Note', { exact: true }).fill('Prefers short answers')
    await page.getByRole('dialog').getByRole('button', { name: 'Add note' }).click()
    await page.getByRole('button', { name: 'Prefers short answers' }).waitFor()

    await page.getByRole('button', { name: 'Clear …' }).click()
    const clear = page.getByRole('dialog').getByRole('button', { name: 'Clear memory' })
    assert.ok(await clear.isDisabled())
    await page.getByText('of the user bob').waitFor()
    await page.getByLabel('Type friend to confirm').fill('friends')
    assert.ok(await clear.isDisabled(), 'it is not the name')
    await page.getByLabel('Type friend to confirm').fill('friend')
    await clear.click()
    await page.getByText('3 memories deleted').waitFor()
    const { body } = await service().call('GET', '/v1/agents/friend/memory')
    assert.deepEqual(new Set(body.data.map(({ user_id }: { user_id: string }) => user_id)), new Set(['ann']))
    await leave()
  })

  test('schedules: created, previewed, run now, paused, deleted; an invalid one says why', async () => {
    await createAgent(service(), 'clock')
    const { page, expect, leave } = await visit('/agents/clock/schedules', { timezone: 'Asia/Tokyo' })
    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.getByLabel('Message').fill('What time is it?')
    await page.getByLabel('Cron expression').fill('61 * * * *')
    expect(/400/)
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.locator('.field', { hasText: 'Cron expression' }).locator('.wrong').waitFor()
    await page.getByRole('button', { name: 'Interval' }).click()
    await page.getByLabel('Every').fill('2h')
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.getByRole('button', { name: 'What time is it?' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('listitem').nth(4).waitFor()
    await dialog.getByRole('button', { name: 'Pause' }).click()
    await dialog.getByText('None: the schedule is paused').waitFor()
    await dialog.getByRole('button', { name: 'Run now' }).click()
    await page.waitForURL(/\/activity\/req_/)
    await page.getByRole('heading', { name: /^req_/ }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'What time is it?' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No schedules yet').waitFor()
    const { body } = await service().call('GET', '/v1/agents/clock/invocations')
    assert.deepEqual(body.data.length, 1)

    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.getByLabel('Message').fill('Good morning')
    await page.getByRole('button', { name: 'Once' }).click()
    await page.getByLabel('At', { exact: true }).fill('2099-01-02T09:30')
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.getByRole('button', { name: 'Good morning' }).waitFor()
    const { body: set } = await service().call('GET', '/v1/agents/clock/schedules')
    assert.equal(set.data[0].at, '2099-01-02T00:30:00.000Z', "the reader's time")

    const path = `/v1/agents/clock/schedules/${set.data[0].id}`
    const attachments = [{ data: 'aGVsbG8=', media_type: 'text/plain', name: 'plan.txt' }]
    await service().call('PATCH', path, { body: { attachments } })
    await page.getByRole('button', { name: 'Good morning' }).click()
    await dialog.getByText('plan.txt').waitFor()
    await dialog.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('At', { exact: true }).fill('2099-01-03T09:30')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Schedule updated').waitFor()
    const { body: kept } = await service().call('GET', path)
    assert.deepEqual([kept.data.at, kept.data.attachments[0]?.name], ['2099-01-03T00:30:00.000Z', 'plan.txt'])
    await leave()
  })

  test('schedules: changing the message does not move the next run', async () => {
    await createAgent(service(), 'tide')
    const path = '/v1/agents/tide/schedules'
    const sent = { message: 'Is the tide in?', every: '1d' }
    const { data: made } = (await service().call('POST', path, { body: sent })).body
    const { page, leave } = await visit('/agents/tide/schedules')
    await page.getByRole('button', { name: 'Is the tide in?' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Message').fill('Is the tide out?')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Schedule updated').waitFor()
    const { data: changed } = (await service().call('GET', `${path}/${made.id}`)).body
    assert.deepEqual([changed.message, changed.next_at], ['Is the tide out?', made.next_at])
    await leave()
  })

  test('settings: an agent becomes a remote agent, and missing fields are named', async () => {
    await createAgent(service(), 'abroad')
    const { page, expect, leave } = await visit('/agents/abroad/settings')
    await page.getByLabel('Runs as').selectOption('remote')
    await page.getByLabel('URL', { exact: true }).fill('ftp://agent.example.com')
    await page.getByLabel('Secret').fill('AGENT')
    expect(/400/)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.field', { hasText: 'URL' }).locator('.wrong').waitFor()
    await page.getByLabel('URL', { exact: true }).fill('https://agent.example.com/run')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    const { kind, remote } = (await service().call('GET', '/v1/agents/abroad')).body.data
    const expected = { url: 'https://agent.example.com/run', headers: {}, secret: 'AGENT', timeout_ms: null }
    assert.deepEqual([kind, remote], ['remote', expected])
    await page.getByText('remote · agent.example.com').waitFor()
    await page.getByLabel('Runs as').selectOption('a2a')
    await page.getByLabel('Agent card').fill('https://far.example.com/card.json')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('A2A · far.example.com').waitFor()
    const { remote: card } = (await service().call('GET', '/v1/agents/abroad')).body.data
    assert.deepEqual(card, { a2a: 'https://far.example.com/card.json', headers: {}, timeout_ms: null })
    await leave()
  })

  test('settings: the form and the YAML change the same agent, and invalid values are reported', async () => {
    await createAgent(service(), 'pupil', { metadata: { team: 'a' }, memory: { summarize: true } })
    const { page, expect, leave } = await visit('/agents/pupil/settings')
    // What the form says in other words stays as it was.
    assert.equal(await page.getByLabel('Summarize after (turns)').inputValue(), '10')
    await page.getByLabel('Description', { exact: true }).fill('Learns.')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    const { description, memory: kept } = (await service().call('GET', '/v1/agents/pupil')).body.data
    assert.deepEqual([description, kept.summarize], ['Learns.', true])
    await page.getByText('Draft saved').waitFor({ state: 'detached' })
    await page.getByLabel('Instructions').fill('Answer in one line.')
    await page.getByLabel('Max concurrent runs').fill('3')
    await page.getByLabel('Extract facts').selectOption('model')
    await page.getByLabel('While another run of its session is in progress').selectOption('reject')
    await page.getByLabel('Allow the requester to decide').selectOption('true')
    await page.getByLabel('Reject automatically after (seconds)').fill('600')
    await page.getByLabel('Summarize after (turns)').fill('1')
    expect(/400/)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.field', { hasText: 'Summarize after (turns)' }).locator('.wrong').waitFor()
    await page.getByLabel('Summarize after (turns)').fill('6')
    // What is saved is shown at once, also if the agent is loaded again much later.
    const later = Promise.withResolvers<void>()
    await page.route('**/v1/agents/pupil', async (route) => {
      if (route.request().method() === 'GET') await later.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    await page.getByRole('button', { name: 'YAML' }).click()
    const text = page.getByLabel('Definition')
    const yaml = await text.inputValue()
    assert.match(yaml, /instructions: Answer in one line\.\n/)
    assert.match(yaml, /sessions:\n +while_busy: reject\n/)
    assert.match(yaml, /approvals:\n +self: true\n +expires_after_seconds: 600\n/)
    later.resolve()
    await text.fill(yaml.replace('max_concurrency: 3', 'max_concurrency: -1'))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('limits.max_concurrency').waitFor()
    await text.fill('a: [')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/^Line 1: .*end with a \]/).waitFor()
    await text.fill(yaml.replace('max_concurrency: 3', 'max_concurrency: 4'))
    await page.getByRole('button', { name: 'Save' }).click()
    // Nothing is left to save.
    await page.locator('button:disabled:not([aria-busy="true"])', { hasText: 'Save' }).waitFor()
    await page.getByRole('button', { name: 'Form' }).click()
    assert.equal(await page.getByLabel('Max concurrent runs').inputValue(), '4')
    const { body } = await service().call('GET', '/v1/agents/pupil')
    const { instructions, limits, metadata, memory, sessions, approvals } = body.data
    assert.deepEqual(sessions, { while_busy: 'reject' })
    assert.deepEqual([memory.facts, memory.summarize], ['model', 6])
    assert.deepEqual(approvals, { self: true, expires_after_seconds: 600 })
    assert.deepEqual([instructions, limits.max_concurrency, metadata], ['Answer in one line.', 4, { team: 'a' }])

    await page.getByRole('button', { name: 'Pause …' }).click()
    await page.getByRole('button', { name: 'Pause agent' }).click()
    await page.getByText('pupil paused').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByLabel('Type pupil to confirm').fill('pupil')
    await page.getByRole('button', { name: 'Delete agent' }).click()
    await page.waitForURL(`${service().url}/`)
    assert.equal((await service().call('GET', '/v1/agents/pupil')).status, 404)
    await leave()
  })

  test('schedules: when each has run, which run that was, and when it runs next', async () => {
    await createAgent(service(), 'bell')
    const path = '/v1/agents/bell/schedules'
    const { body } = await service().call('POST', path, { body: { every: '1m', message: 'Ring' } })
    service().advance(60_000)
    const ticked = await until('the first tick', async () => {
      const { data } = (await service().call('GET', `${path}/${body.data.id}`)).body
      return data.last_request_id && data
    })
    const { page, leave } = await visit('/agents/bell/schedules')
    const row = page.getByRole('row', { name: 'Ring' })
    await row.getByRole('link').waitFor()
    assert.equal(await row.getByRole('link').getAttribute('href'), `/activity/${ticked.last_request_id}`)
    assert.equal(await row.getByRole('link').locator('time').getAttribute('datetime'), ticked.last_tick_at)
    assert.equal(await row.locator('time').last().getAttribute('datetime'), ticked.next_at)
    await leave()
  })

  test('schedules: how many runs were missed, and why', async () => {
    await createAgent(service(), 'resting')
    const path = '/v1/agents/resting/schedules'
    const setStatus = (status: string) => service().call('PATCH', '/v1/agents/resting', { body: { status } })
    const { body } = await service().call('POST', path, { body: { every: '10m', message: 'Knock' } })
    await setStatus('paused')
    service().advance(900_000)
    await until('that it stands still', async () =>
      /Schedule paused with its agent/.test((await service().call('GET', '/v1/agents/resting/logs')).text),
    )
    await setStatus('running')
    await until('what it has missed', async () => {
      const { data } = (await service().call('GET', `${path}/${body.data.id}`)).body
      return data.missed === 1
    })
    const { page, leave } = await visit('/agents/resting/schedules')
    await page.getByRole('button', { name: 'Knock' }).click()
    await page.getByRole('dialog').getByText('Missed').waitFor()
    assert.match(await page.getByRole('dialog').innerText(), /Missed\s+1\s+\(agent paused\) last /)
    await leave()
  })

  test('a read-only key sees everything and nothing that would change it', async () => {
    const agent_id = await createAgent(service(), 'shown')
    await say('shown', 'hello', { user_id: 'ann' })
    const { secret } = await createKey(service(), { name: 'viewer', permissions: ['read'], agent_id })
    const { page, leave } = await visit('/agents/shown/memory', { key: secret })
    await page.getByRole('button', { name: 'hello' }).first().click()
    await page.getByRole('dialog').getByText('hello').waitFor()
    for (const name of ['Save', 'Delete memory', 'Add note', 'Clear …']) {
      assert.equal(await page.getByRole('button', { name }).count(), 0, name)
    }
    await page.goto(`${service().url}/agents/shown/settings`)
    await page.getByLabel('Instructions').waitFor()
    assert.ok(await page.getByLabel('Instructions').isDisabled())
    for (const name of ['Save', 'Pause', 'Delete']) {
      assert.equal(await page.getByRole('button', { name }).count(), 0, name)
    }
    await leave()
  })
})
