import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { createAgent } from '../../support/slices/resources.ts'

const SCHEMA = { type: 'object', properties: { shop: { type: 'string' }, total: { type: 'number' } } }
const RULES = [
  { match: { contains: 'rope' }, output: { shop: 'Chandler', total: 12.5, items: ['rope'] } },
  { match: { contains: 'paint' }, output: { shop: 'Painter', total: 'a lot' } },
  { match: { contains: 'poem' }, reply: 'The sea is calm' },
]

inConsole('structured answers in the console', (visit, service) => {
  before(() =>
    createAgent(service(), 'clerk', {
      model: 'builtin/script',
      script: { rules: RULES },
      output: { schema: SCHEMA, retries: 0 },
    }),
  )

  test('the playground and the receipt show the output as a tree', async () => {
    const { page, leave } = await visit('/agents/clerk')
    await page.getByLabel('Message', { exact: true }).fill('rope')
    await page.keyboard.press('Enter')
    const tree = page.getByRole('group', { name: 'Value' })
    await tree.getByText('"Chandler"').waitFor()
    await tree.getByText('list of 1').waitFor()
    const { body } = await service().call('GET', '/v1/agents/clerk/invocations?limit=1')
    await page.goto(new URL(`/activity/${body.data[0].request_id}`, page.url()).href)
    await page.getByRole('group', { name: 'Value' }).getByText('12.5').waitFor()
    await leave()
  })

  test('an answer that does not match is shown with the error at its field', async () => {
    const { page, leave } = await visit('/agents/clerk')
    await page.getByLabel('Message', { exact: true }).fill('paint')
    await page.keyboard.press('Enter')
    const wrong = page.getByRole('group', { name: 'Value' }).locator('.leaf').filter({ hasText: 'must be a number' })
    await wrong.getByText('"a lot"').waitFor()
    await page.getByLabel('Message', { exact: true }).fill('poem')
    await page.keyboard.press('Enter')
    const words = page.locator('.tree').filter({ hasText: 'The sea is calm' })
    await words.getByText(/^is not valid JSON: /).waitFor()
    await leave()
  })

  test('the agent form edits the schema, and shows where it is invalid', async () => {
    const { page, leave, expect } = await visit('/agents/clerk/settings')
    expect(/status of 400/)
    const schema = page.getByLabel('Output schema (JSON Schema)')
    assert.deepEqual(JSON.parse(await schema.inputValue()), SCHEMA)
    await schema.fill('{"type": "object", "required": "all"}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('required: must be a list').waitFor()
    await schema.fill('{"type": "object"}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    assert.equal(await page.getByText('required: must be a list').count(), 0)
    await leave()
    const { body } = await service().call('GET', '/v1/agents/clerk')
    assert.deepEqual(body.data.output, { schema: { type: 'object' }, retries: 0 })
  })
})
