import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { until } from '../../support/running/until.ts'
import { createAgent } from '../../support/slices/resources.ts'

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

inConsole('messages in the console', (visit, service) => {
  test('an unsent message is still there when the user comes back', async () => {
    await createAgent(service(), 'listener')
    const { page, leave } = await visit('/agents/listener')
    const message = page.getByLabel('Message', { exact: true })
    await message.fill('A long thought')
    await page.getByRole('link', { name: 'Memory' }).click()
    await page.getByRole('heading', { name: 'listener' }).waitFor()
    await page.getByRole('link', { name: 'Playground' }).click()
    assert.equal(await message.inputValue(), 'A long thought')
    await message.press('Enter')
    await page.getByText('A long thought').first().waitFor()
    await page.reload()
    await page.getByText('A long thought').first().waitFor()
    assert.equal(await message.inputValue(), '')
    await leave()
  })

  test('a message whose request required JSON is sent again with the same schema', async () => {
    const script = { rules: [{ output: { city: 'Paris' } }] }
    await createAgent(service(), 'guide', { model: 'builtin/script', script })
    await createAgent(service(), 'atlas', { model: 'builtin/script', script, output: { schema: CITY } })
    const ask = async (agent: string, body: object) =>
      (await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Where?', ...body } })).body.data
    const ofCall = await ask('guide', { output: { schema: CITY, retries: 1 } })
    const ofAgent = await ask('atlas', {})
    assert.deepEqual([ofCall.output, ofAgent.output], [{ city: 'Paris' }, { city: 'Paris' }])
    const { page, settled, go, leave } = await visit(`/activity/${ofCall.request_id}`)
    for (const [agent, { request_id }, wanted] of [
      ['guide', ofCall, { schema: CITY, retries: 1 }],
      ['atlas', ofAgent, undefined],
    ] as const) {
      await go(`/activity/${request_id}`)
      await settled()
      await page.getByRole('button', { name: 'Run again' }).click()
      const again = await until('the new run', async () => {
        const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
        const [latest] = body.data
        if (latest.request_id === request_id || latest.status !== 'completed') return undefined
        return (await service().call('GET', `/v1/agents/${agent}/invocations/${latest.request_id}`)).body.data
      })
      assert.deepEqual([again.output, again.output_wanted], [{ city: 'Paris' }, wanted])
    }
    await leave()
  })
})
