import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { untilHolds } from '../../support/running/until.ts'
import { startWaiting } from '../../support/slices/approvals.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

const OUTGOING = { MOORAGE_OUTGOING__ALLOW_INSECURE: 'true', MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.1' }

inConsole(
  'the first page of a new service',
  (visit, service) => {
    let model: ModelServer
    before(async () => {
      model = await startModelServer()
    })
    after(() => model.close())

    test('has four steps, each with its button and a tick when it is done; then it has none', async () => {
      const { page, settled, leave } = await visit('/')
      const card = page.getByRole('region', { name: 'Get started' })
      const left = async () => {
        await page.goto(`${service().url}/`)
        await settled()
        return card.getByRole('listitem').filter({ hasNotText: '(done)' }).getByRole('link').allInnerTexts()
      }
      assert.deepEqual(await left(), ['Add provider', 'Create agent', 'Open playground', 'Create key'])

      await card.getByRole('link', { name: 'Add provider' }).click()
      await page.getByRole('dialog').waitFor()
      const provider = { base_url: model.url }
      assert.ok((await service().call('PUT', '/v1/providers/local', { body: provider })).status < 300)
      assert.deepEqual(await left(), ['Create agent', 'Open playground', 'Create key'])

      // What people come for is the first choice, with a model that is there.
      await card.getByRole('link', { name: 'Create agent' }).click()
      const dialog = page.getByRole('dialog')
      assert.equal(await dialog.getByRole('radio').first().isChecked(), true)
      await untilHolds(async () =>
        assert.equal(await dialog.getByLabel('Model', { exact: true }).last().inputValue(), 'local/tiny'),
      )
      await dialog.getByLabel('Name', { exact: true }).fill('clerk')
      await dialog.getByRole('button', { name: 'Create agent' }).click()
      await page.getByText('Agent created').waitFor()
      assert.deepEqual(await left(), ['Open playground', 'Create key'])

      await card.getByRole('link', { name: 'Open playground' }).click()
      await page.getByLabel('Message', { exact: true }).fill('Ahoy')
      await page.keyboard.press('Enter')
      await page.getByText('completed').waitFor()
      assert.deepEqual(await left(), ['Create key'])

      await card.getByRole('link', { name: 'Create key' }).click()
      await page.getByRole('dialog').waitFor()
      await createKey(service(), { role: 'caller' })
      assert.deepEqual(await left(), [])
      assert.equal(await card.count(), 0)
      await leave()
    })
  },
  { settings: OUTGOING },
)

inConsole('the first page of a service in use', (visit, service) => {
  test('dismissed steps stay hidden, and problems are shown before the agents', async () => {
    const rules = [{ match: { contains: 'reef' }, fail: 'aground' }]
    await createAgent(service(), 'pilot', { model: 'builtin/script', script: { rules, fallback: 'Aye.' } })
    const call = { tool: 'ask_person', arguments: { question: 'Which berth?' } }
    const asking = { model: 'builtin/script', tools: [{ type: 'ask_person' }], script: { rules: [{ call }] } }
    await createAgent(service(), 'bosun', asking)
    await startWaiting(service(), 'bosun', 'Where to?')
    for (const message of ['a reef', 'calm'])
      await service().call('POST', '/v1/agents/pilot/invoke', { body: { message } })
    const webhook = { url: 'https://hooks.example.com/x', events: ['agent.failed'] }
    const { body } = await service().call('POST', '/v1/webhooks', { body: webhook })
    await service().call('PATCH', `/v1/webhooks/${body.data.id}`, { body: { status: 'disabled' } })
    const limited = { name: 'small', scope: { type: 'project' }, limit: { runs: 2 }, per: 'ever' }
    const budget = await service().call('POST', '/v1/budgets', { body: limited })
    assert.equal(budget.status, 201, budget.text)
    for (let i = 0; i < 2; i++) await service().call('POST', '/v1/agents/pilot/invoke', { body: { message: 'calm' } })

    const { page, settled, leave } = await visit('/', { isHurried: true })
    const card = page.getByRole('region', { name: 'Get started' })
    await card.getByRole('button', { name: 'Dismiss' }).click()
    await card.waitFor({ state: 'detached' })
    const needs = page.getByRole('region', { name: 'Needs attention' })
    await untilHolds(async () =>
      assert.deepEqual(await needs.getByRole('link').allInnerTexts(), [
        '1 approval waiting for a decision',
        'pilot: 25% of requests failed in the last 24 hours',
        '1 webhook disabled',
        'Budget "small": 100% used',
      ]),
    )
    await page.reload()
    await needs.getByRole('link', { name: /^pilot/ }).waitFor()
    await settled()
    assert.equal(await card.count(), 0)
    await needs.getByRole('link', { name: /^pilot/ }).click()
    await page.getByRole('link', { name: 'a reef' }).waitFor()
    await leave()
  })

  test('a user without first steps sees problems on the first visit', async () => {
    const { secret } = await createKey(service(), { role: 'viewer' })
    const { page, leave } = await visit('/', { key: secret })
    await page
      .getByRole('region', { name: 'Needs attention' })
      .getByRole('link', { name: /^pilot/ })
      .waitFor()
    assert.equal(await page.getByRole('region', { name: 'Get started' }).count(), 0)
    await leave()
  })

  test('failing agents are listed, even those that are not on the first page', async () => {
    for (let i = 10; i < 36; i++) await createAgent(service(), `a-${i}`)
    const rules = [{ fail: 'aground' }]
    const failing = ['y-1', 'y-2', 'y-3']
    for (const name of failing) {
      await createAgent(service(), name, { model: 'builtin/script', script: { rules } })
      await service().call('POST', `/v1/agents/${name}/invoke`, { body: { message: 'hi' } })
    }
    const { secret } = await createKey(service(), { role: 'viewer' })
    const { page, leave } = await visit('/', { key: secret })
    const links = page.getByRole('region', { name: 'Needs attention' }).getByRole('link')
    const all = '100% of requests failed in the last 24 hours'
    await untilHolds(async () =>
      assert.deepEqual(
        (await links.allInnerTexts()).filter((text) => /failed|failing/.test(text)).toSorted(),
        ['1 more agent failing', ...failing.map((name) => `${name}: ${all}`)].toSorted(),
      ),
    )
    await leave()
  })

  test('problems are shown even if the state of the steps is unknown', async () => {
    const { page, context, expect, leave } = await visit('/', { isStill: true })
    await context.route(/v1[/]providers/, (route) => route.abort())
    expect(/ERR_FAILED/)
    await page.reload()
    await page
      .getByRole('region', { name: 'Needs attention' })
      .getByRole('link', { name: /webhook disabled/ })
      .waitFor()
    assert.equal(await page.getByRole('region', { name: 'Get started' }).count(), 0)
    await leave()
  })

  test('a key is sent to the first page that it has access to, and sees why others are unavailable', async () => {
    const { secret } = await createKey(service(), { role: 'caller' })
    const { page, go, asked, settled, leave } = await visit('/', { key: secret })
    await page.getByRole('heading', { name: 'Approvals', exact: true }).waitFor()
    await settled()
    asked()
    for (const path of ['/connections', '/system', '/people', '/keys/key_1', '/usage/budgets', '/agents/pilot/logs']) {
      await go(path)
      await page.getByText("You can't open this page").waitFor()
    }
    assert.deepEqual(
      asked().filter((request) => !/\/v1\/(pause|approvals)$/.test(request)),
      [],
    )
    await leave()
  })

  test('the page of a missing agent has no tabs', async () => {
    const { page, expect, leave } = await visit('/agents/nobody/logs')
    expect(/404/)
    await page.getByText('Agent not found').waitFor()
    assert.equal(await page.getByRole('navigation', { name: 'Agent' }).count(), 0)
    await leave()
  })
})
