import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { untilHolds } from '../../support/running/until.ts'
import { createAgent } from '../../support/slices/resources.ts'

const SEARCH = {
  type: 'http',
  name: 'search',
  method: 'GET',
  url: 'https://chandler.example.com/search',
  input_schema: {
    type: 'object',
    properties: { q: { type: 'string' } },
    required: ['q'],
    additionalProperties: false,
  },
}

inConsole('settings that two people change', (visit, service) => {
  const agentOf = async (name: string) => (await service().call('GET', `/v1/agents/${name}`)).body.data
  const change = async (name: string, body: object) => {
    const reply = await service().call('PATCH', `/v1/agents/${name}`, { body })
    assert.equal(reply.status, 200, reply.text)
  }

  test('saving a limit keeps other limits that someone else has changed', async () => {
    await createAgent(service(), 'shared-limits')
    const { page, leave } = await visit('/agents/shared-limits/settings')
    await page.getByLabel('Max tool calls per run').fill('4')
    await change('shared-limits', { limits: { max_steps: 2, max_cost_per_run: 0.1 }, description: 'theirs' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    const { limits, description } = await agentOf('shared-limits')
    assert.deepEqual(
      [limits.max_steps, limits.max_cost_per_run, limits.max_tool_calls, description],
      [2, 0.1, 4, 'theirs'],
    )
    await leave()
  })

  test('a field that both users change shows the conflict, and only a second save overwrites it', async () => {
    await createAgent(service(), 'disputed', { tools: [SEARCH] })
    const { page, leave } = await visit('/agents/disputed/settings')
    await page.getByLabel('Max steps').fill('5')
    await change('disputed', { limits: { max_steps: 2 } })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Max steps was changed to 2 while you were editing').waitFor()
    assert.equal((await agentOf('disputed')).limits.max_steps, 2)
    assert.equal(await page.getByLabel('Max steps').inputValue(), '5')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    assert.equal((await agentOf('disputed')).limits.max_steps, 5)

    // A tool that somebody took out does not come back with a change of another one.
    await page.getByRole('button', { name: 'Tools', exact: true }).click()
    await page.locator('.tool-card summary').click()
    await page.getByLabel('Description', { exact: true }).fill('Searches')
    await change('disputed', { tools: [] })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('was changed while you were editing').waitFor()
    assert.deepEqual((await agentOf('disputed')).tools, [])
    await page.getByRole('button', { name: 'Discard' }).click()
    await leave()
  })

  test('text typed during a save is kept, and saved next', async () => {
    await createAgent(service(), 'hasty')
    const { page, leave } = await visit('/agents/hasty/settings')
    const isHeld = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    await page.route('**/v1/agents/*', async (route) => {
      if (route.request().method() === 'PATCH') {
        isHeld.resolve()
        await goOn.promise
      }
      await route.continue()
    })
    const instructions = page.getByLabel('Instructions')
    await instructions.fill('First sentence.')
    await page.getByRole('button', { name: 'Save' }).click()
    await isHeld.promise
    await instructions.press('Control+End')
    await instructions.pressSequentially(' Second sentence.')
    goOn.resolve()
    await page.getByText('Draft saved').waitFor()
    assert.equal((await agentOf('hasty')).instructions, 'First sentence.')
    assert.equal(await instructions.inputValue(), 'First sentence. Second sentence.')
    await page.getByText('Unsaved changes').waitFor()
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    assert.equal((await agentOf('hasty')).instructions, 'First sentence. Second sentence.')
    assert.equal(await page.getByText('Unsaved changes').count(), 0)
    await leave()
  })

  test('fields deleted in the YAML are removed, including top-level ones; an error keeps the text', async () => {
    await createAgent(service(), 'bared', {
      tools: [SEARCH],
      instructions: 'Be brief.',
      temperature: 0.5,
      metadata: { team: 'quay' },
      limits: { max_tool_calls: 3 },
    })
    const { page, leave } = await visit('/agents/bared/settings?view=yaml')
    const text = page.getByLabel('Definition')
    await text.fill('model: builtin/echo\nlimits:\n  max_steps: 8\nmemory: {history: 20')
    await page.getByText(/^Line 4: /).waitFor()
    await page.reload()
    assert.match(await text.inputValue(), /memory: \{history: 20$/)
    await text.fill('# Only this\nmodel: builtin/echo\nlimits:\n  max_steps: 8\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    const { tools, instructions, temperature, metadata, limits } = await agentOf('bared')
    assert.deepEqual([tools, instructions, temperature, metadata], [[], null, null, {}])
    assert.deepEqual([limits.max_steps, limits.max_tool_calls], [8, null])
    await leave()
  })

  test('invalid input is refused at its field and kept', async () => {
    await createAgent(service(), 'typist', {
      tools: [
        SEARCH,
        { ...SEARCH, name: 'pick', input_schema: { type: 'object', properties: { k: { enum: ['a', 'b'] } } } },
        { type: 'mcp', url: 'https://mcp.example.com/mcp', allow: ['one'] },
      ],
    })
    const { page, expect, leave } = await visit('/agents/typist/settings')
    expect(/400/)
    await page.getByLabel('Output schema (JSON Schema)').fill('{"type": "object",}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/Output schema \(JSON Schema\) is not valid JSON: /).waitFor()
    await page.getByLabel('Output schema (JSON Schema)').fill('')

    await page.getByRole('button', { name: 'Tools', exact: true }).click()
    const [search, pick, mcp] = [0, 1, 2].map((i) => page.locator('.tool-card').nth(i))
    assert.ok(search && pick && mcp)
    for (const card of [search, pick, mcp]) await card.locator('summary').click()
    await search.getByLabel('Description of parameter 1').fill('What to find')
    const schema = pick.getByLabel('Parameters, as JSON Schema')
    const good = await schema.inputValue()
    await schema.fill(`${good},`)
    // The field shows what is typed, also with a comma at its end.
    const allowed = mcp.getByLabel('Allowed tools')
    await allowed.press('End')
    await allowed.pressSequentially(',tw')
    assert.equal(await allowed.inputValue(), 'one,tw')
    for (let i = 0; i < 4; i++) await allowed.press('Backspace')
    assert.equal(await allowed.inputValue(), 'on')
    await allowed.pressSequentially('e, two')
    await page.getByRole('button', { name: 'Save' }).click()
    await pick.getByText(/Parameters, as JSON Schema is not valid JSON: /).waitFor()
    assert.equal(await schema.inputValue(), `${good},`)
    await schema.fill(good.replace('"b"', '"c"'))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draft saved').waitFor()
    const { tools } = await agentOf('typist')
    assert.deepEqual(tools[0].input_schema, {
      ...SEARCH.input_schema,
      properties: { q: { type: 'string', description: 'What to find' } },
    })
    assert.deepEqual(tools[1].input_schema.properties, { k: { enum: ['a', 'c'] } })
    assert.deepEqual(tools[2].allow, ['one', 'two'])
    await leave()
  })

  test('a parameter or header without a name, or with a duplicate one, is not dropped silently', async () => {
    await createAgent(service(), 'careful', { tools: [SEARCH] })
    const { page, leave } = await visit('/agents/careful/settings?view=tools')
    await page.locator('.tool-card summary').click()
    await page.getByRole('button', { name: 'Add parameter' }).click()
    await page.getByLabel('Name of parameter 2').fill('q')
    await page.getByLabel('Description', { exact: true }).fill('Searches')
    await page.getByRole('button', { name: 'Add header' }).click()
    await page.getByLabel('Header 1', { exact: true }).fill('')
    await page.getByLabel('Value of header 1').fill('4')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('q is used twice').first().waitFor()
    await page.getByText('A header needs a name').waitFor()
    assert.equal((await agentOf('careful')).tools[0].description, '')
    await page.getByRole('button', { name: 'Discard' }).click()
    await leave()
  })

  test('discarding changes after a conflict shows what the other user has saved', async () => {
    await createAgent(service(), 'clashing', { description: 'old' })
    const { page, leave } = await visit('/agents/clashing/settings')
    const description = page.getByLabel('Description', { exact: true })
    await description.fill('mine')
    await change('clashing', { description: 'theirs' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('was changed to theirs').waitFor()
    await page.getByText('Someone else changed this agent while you were editing.').waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    await untilHolds(async () => assert.equal(await description.inputValue(), 'theirs'))
    await leave()
  })

  test('discarding invalid changes removes their error', async () => {
    await createAgent(service(), 'refused')
    const { page, expect, leave } = await visit('/agents/refused/settings?view=yaml')
    expect(/400/)
    await page.getByRole('textbox', { name: 'Definition' }).fill('nonsense: 1')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('form > .failure').waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.locator('form > .failure').waitFor({ state: 'detached' })
    await leave()
  })

  test("Enter in a tool's test calls the tool and saves nothing", async () => {
    await createAgent(service(), 'tested', { tools: [SEARCH] })
    const { page, asked, settled, leave } = await visit('/agents/tested/settings?view=tools')
    await page.locator('.tool-card summary').click()
    await page.getByLabel('Description', { exact: true }).fill('Half a')
    await page.getByRole('button', { name: 'Test' }).click()
    await page.getByLabel('q', { exact: true }).fill('rope')
    await settled()
    asked()
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Test' }).getByRole('status').waitFor()
    assert.deepEqual(
      asked().filter((request) => !request.startsWith('GET')),
      [`POST /v1/agents/${(await agentOf('tested')).id}/tools/test`],
    )
    assert.equal((await agentOf('tested')).tools[0].description, '')
    await page.getByRole('button', { name: 'Discard' }).click()
    await leave()
  })

  test('a draft that was changed elsewhere can be deployed with a second click', async () => {
    await createAgent(service(), 'moving')
    const { page, settled, expect, leave } = await visit('/agents/moving/deployments')
    expect(/409/)
    await settled()
    await change('moving', { description: 'theirs' })
    await page.getByRole('button', { name: 'Deploy', exact: true }).click()
    await page.getByRole('button', { name: 'Deploy v1 to production' }).click()
    await page.getByText('has changed since you read it').waitFor()
    await settled()
    await page.getByRole('button', { name: 'Deploy v1 to production' }).click()
    await page.getByText('production now serves v1').waitFor()
    await leave()
  })
})
