import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

const GOOD = { rules: [{ match: { contains: 'tide' }, reply: 'The tide is in.' }], fallback: 'No.' }
const BAD = { rules: [], fallback: 'No idea.' }

inConsole('sets and replays in the console', (visit, service) => {
  before(() => createAgent(service(), 'pilot', { model: 'builtin/script', script: BAD }))
  const send = async (method: string, path: string, body: object) => {
    const reply = await service().call(method, `/v1/agents/pilot${path}`, { body })
    assert.ok(reply.status < 300, reply.text)
    return reply.body.data
  }

  test('a bad answer becomes a set, and a replay shows that the changed draft does better', async () => {
    const { request_id } = await send('POST', '/invoke', { message: 'Is the tide in?' })
    await send('POST', '/invoke', { message: 'Anything else?' })
    await send('PUT', `/invocations/${request_id}/feedback`, { score: -1 })
    await send('POST', '/deployments', { environment: 'production', version: 'v1' })
    await send('PATCH', '', { script: GOOD })

    const { page, leave } = await visit('/agents/pilot')
    await page.getByRole('link', { name: 'Replays' }).click()
    await page.getByText('No sets yet').waitFor()
    await page.getByRole('button', { name: 'New set' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('tides')
    await dialog.getByRole('checkbox', { name: /👎 Is the tide in\?/ }).check()
    await dialog.getByRole('button', { name: 'Save set' }).click()
    await page.getByText('Set saved with 1 case').waitFor()
    await page.getByRole('region', { name: 'Sets' }).getByText('tides').waitFor()

    await page.getByRole('button', { name: 'New replay' }).click()
    await dialog.getByLabel('Answers must contain').fill('tide')
    await dialog.getByRole('button', { name: 'Start replay' }).click()
    await page.getByRole('link', { name: 'draft on tides' }).click()
    await page.getByText('0 of 1 case got worse and 1 better.').waitFor()
    const sides = page.getByRole('region', { name: 'Columns' })
    await sides.getByText('Baseline (v1)').waitFor()
    const cases = page.getByRole('region', { name: 'Cases' })
    await cases.getByText('The tide is in.').waitFor()
    assert.equal(await cases.getByText('No idea.').count(), 2, 'recorded, and by the deployed version')
    await page.getByLabel('Outcome').selectOption('regressed')
    await cases.getByText('The tide is in.').waitFor({ state: 'detached' })
    await leave()
  })

  test('a viewer reads reports and has no buttons to start one', async () => {
    const { secret } = await createKey(service(), { role: 'viewer' })
    const { page, leave } = await visit('/agents/pilot/replays', { key: secret })
    await page.getByRole('link', { name: 'draft on tides' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'New replay' }).count(), 0)
    await leave()
  })
})
