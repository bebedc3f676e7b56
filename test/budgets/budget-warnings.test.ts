import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { leastLongestPass } from '../support/running/longest-pass.ts'
import { newAgent, newLongAgents } from '../support/service/agents.ts'
import { inProject, onBothEngines, type Service } from '../support/service/service.ts'

onBothEngines(
  'warnings of budgets',
  (service, engine) => {
    const call = async (method: string, path: string, body?: object) => {
      const reply = await service().call(method, path, { ...(body && { body }) })
      assert.ok(reply.status < 300, reply.text)
      return reply.body.data
    }
    const create = (agent: string, limit: object, more = {}) =>
      call('POST', '/v1/budgets', { name: 'b', scope: { type: 'agent', id: agent }, limit, per: 'ever', ...more })

    before(() => call('PUT', '/v1/providers/local', { base_url: 'https://llm.example.com/v1' }))

    test('a budget in dollars names the models of agents in its scope that have no price', async () => {
      const model = ['local/one', 'local/two']
      const agent = await newAgent(service(), { model })
      const both =
        'The models local/one, local/two have no price. This budget refuses their calls until a price is set.'
      const { id, warnings } = await create(agent, { cost_usd: 5 })
      assert.deepEqual(warnings, [both])
      assert.deepEqual((await call('GET', `/v1/budgets/${id}`)).warnings, [both])
      await call('PUT', '/v1/prices/local/one', { input: 1, output: 1 })
      assert.deepEqual((await call('PATCH', `/v1/budgets/${id}`, { action: 'notify' })).warnings, [
        "The model local/two has no price. This budget doesn't count its calls until a price is set.",
      ])
      await call('PUT', '/v1/prices/local/two', { input: 1, output: 1 })
      assert.deepEqual((await call('GET', `/v1/budgets/${id}`)).warnings, [])
      const project = await call('POST', '/v1/budgets', { ...PROJECT, limit: { cost_usd: 5 } })
      assert.deepEqual(project.warnings, [])
      await newAgent(service(), { model: 'local/three' })
      assert.match(
        (await call('GET', `/v1/budgets/${project.id}`)).warnings[0],
        /^The model local\/three has no price\./,
      )
      for (const name of ['one', 'two']) await call('DELETE', `/v1/prices/local/${name}`)
    })

    // SQLite has no connections that could run out.
    if (engine === 'postgres') {
      test('more budgets than there are connections can be created at once, though each reads prices over another one', async () => {
        await newAgent(service(), { model: 'local/four' })
        // Creating a price clears the cached model prices of the project, so they have to be read again.
        await call('PUT', '/v1/prices/local/four', { input: 1, output: 1 })
        const body = { ...PROJECT, limit: { cost_usd: 5 } }
        const made = await Promise.all(Array.from({ length: 12 }, () => call('POST', '/v1/budgets', body)))
        await Promise.all(made.map(({ id }) => call('DELETE', `/v1/budgets/${id}`)))
        await call('DELETE', '/v1/prices/local/four')
      })
    }

    test('an agent that the request may not see is not named, nor its model', async () => {
      const inside = { 'X-Forwarded-For': '192.0.2.10' }
      const security = { ipWhitelist: { enabled: true, addresses: ['192.0.2.10'] } }
      const hide = async (name: string, within: Service) => {
        const body = { name, model: 'local/hidden', security }
        const reply = await within.call('POST', '/v1/agents', { headers: inside, body })
        assert.equal(reply.status, 201, reply.text)
      }
      await hide('payroll', service())
      await call('POST', '/v1/projects', { name: 'elsewhere' })
      const other = inProject(service(), 'elsewhere')
      await other.call('PUT', '/v1/providers/local', { body: { base_url: 'https://llm.example.com/v1' } })
      await hide('merger', other)
      const headers = { 'X-Forwarded-For': '203.0.113.5' }
      for (const type of ['project', 'service']) {
        for (const limit of [{ cost_usd: 5 }, { tokens: 1 }]) {
          const body = { name: 'b', scope: { type }, per: 'ever', limit }
          const made = await service().call('POST', '/v1/budgets', { headers, body })
          assert.equal(made.status, 201, made.text)
          const path = `/v1/budgets/${made.body.data.id}`
          const changed = await service().call('PATCH', path, { headers, body: { name: 'c' } })
          for (const { text } of [made, changed, await service().call('GET', path, { headers })]) {
            assert.doesNotMatch(text, /payroll|merger|hidden/)
          }
          const seen = await service().call('GET', path, { headers: inside })
          assert.match(String(seen.body.data.warnings), 'tokens' in limit ? /payroll/ : /hidden/)
          await call('DELETE', path)
        }
      }
    })

    test('a budget says that a single call may hold more than all of it', async () => {
      const instructions = 'x'.repeat(100)
      const agent = await newAgent(service(), { model: 'local/one', instructions, limits: { max_output_tokens: 400 } })
      const { name } = await call('GET', `/v1/agents/${agent}`)
      const { id, warnings } = await create(agent, { tokens: 499 })
      const words = `A single call of the agent ${name} could need 500 tokens, more than the whole budget of 499 tokens, so every call is refused. Raise the budget's limit, or lower the agent's limits.max_output_tokens.`
      assert.deepEqual(warnings, [words])
      assert.deepEqual((await call('PATCH', `/v1/budgets/${id}`, { limit: { tokens: 500 } })).warnings, [])
      assert.deepEqual((await create(agent, { tokens: 1 }, { action: 'notify' })).warnings, [])
      assert.deepEqual((await create(agent, { runs: 1 })).warnings, [])
      await call('PUT', '/v1/prices/local/one', { input: 0, output: 10 })
      assert.match(
        (await create(agent, { cost_usd: 0.003 })).warnings[0],
        / could need \$0\.004, more than the whole budget /,
      )
      await call('DELETE', '/v1/prices/local/one')
      const [listed] = (await call('GET', '/v1/budgets?limit=1')) as { warnings?: string[] }[]
      assert.equal(listed?.warnings, undefined)
    })

    test('agents with long definitions delay no one', async () => {
      await newLongAgents(service(), 100, { model: 'local/long' })
      const { id, warnings } = await call('POST', '/v1/budgets', { ...PROJECT, limit: { cost_usd: 5 } })
      assert.match(String(warnings), /^The model local\/long has no price\./)
      const ms = await leastLongestPass(() => call('GET', `/v1/budgets/${id}`))
      assert.ok(ms < 50, `${ms} ms`)
    })
  },
  { MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.0/8' },
)

const PROJECT = { name: 'p', scope: { type: 'project' }, per: 'ever' }
