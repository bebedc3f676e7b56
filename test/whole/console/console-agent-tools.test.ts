import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { untilHolds } from '../../support/running/until.ts'
import { callerOf, childrenOf } from '../../support/slices/agent-tools.ts'
import { createAgent } from '../../support/slices/resources.ts'

inConsole('the tools of an agent in the console', (visit, service) => {
  test('removing a tool removes its own fields and no others', async () => {
    const toolOf = (name: string, parameter: string) => ({
      type: 'http',
      name,
      description: `Asks for the ${parameter}`,
      method: 'GET',
      url: `https://chandler.example.com/${name}`,
      input_schema: { type: 'object', properties: { [parameter]: { type: 'string' } }, required: [parameter] },
    })
    await createAgent(service(), 'chandler', { tools: [toolOf('rope', 'length'), toolOf('anchor', 'weight')] })
    const { page, leave } = await visit('/agents/chandler/settings')
    await page.getByRole('button', { name: 'Tools', exact: true }).click()
    const cards = page.locator('.tool-card')
    await cards.first().locator('summary').click()
    await cards.first().getByRole('button', { name: 'Remove tool' }).click()
    await untilHolds(async () => assert.equal(await cards.count(), 1))
    assert.equal(await cards.getByLabel('Name', { exact: true }).inputValue(), 'anchor')
    assert.equal(await cards.getByLabel('Name of parameter 1').inputValue(), 'weight')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Draft saved').waitFor()
    const { tools } = (await service().call('GET', '/v1/agents/chandler')).body.data
    assert.deepEqual(
      tools.map(({ name }: { name: string }) => name),
      ['anchor'],
    )
    await leave()
  })
})

inConsole('agents as tools in the console', (visit, service) => {
  test('the form of the tools takes another agent, and says what is wrong with it', async () => {
    await createAgent(service(), 'helper')
    await createAgent(service(), 'chief')
    const { page, expect, leave } = await visit('/agents/chief/settings')
    expect(/400/)
    await page.getByRole('button', { name: 'Tools', exact: true }).click()
    await page.getByRole('button', { name: /^Add: Another agent/ }).click()
    const card = page.locator('.tool-card')
    await card.getByLabel('Name', { exact: true }).fill('ask_helper')
    await card.getByLabel('Agent', { exact: true }).fill('nowhere')
    await card.getByLabel('Memory').selectOption('none')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await card.getByText('no agent "nowhere" exists in this project').waitFor()
    await card.getByLabel('Agent', { exact: true }).fill('helper')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('exists in this project').waitFor({ state: 'detached' })
    await page.getByText('Draft saved').waitFor()
    const { tools } = (await service().call('GET', '/v1/agents/chief')).body.data
    assert.deepEqual(tools, [
      {
        type: 'agent',
        name: 'ask_helper',
        description: '',
        agent: 'helper',
        environment: 'production',
        memory: 'none',
      },
    ])
    await leave()
  })

  test("a run's page links to the runs that it called, at all levels, and back", async () => {
    await createAgent(service(), 'leaf')
    await createAgent(service(), 'branch', callerOf('leaf'))
    await createAgent(service(), 'trunk', callerOf('branch'))
    const reply = await service().call('POST', '/v1/agents/trunk/invoke', { body: { message: 'Ahoy' } })
    const { request_id } = reply.body.data
    const [branch] = await childrenOf(service(), request_id)
    const { page, leave } = await visit(`/activity/${request_id}`)
    const tree = page.locator('.request section').last().locator('ul.plain-list').first()
    await tree.getByRole('link', { name: 'branch' }).waitFor()
    await tree.getByRole('link', { name: 'leaf' }).click()
    await page.getByRole('link', { name: branch.request_id }).click()
    await page.getByRole('link', { name: request_id }).click()
    await page.getByRole('heading', { name: request_id }).waitFor()
    await leave()
  })
})
