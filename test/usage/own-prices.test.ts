import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { LOCAL_TOOLS, NOWHERE } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { betweenNodes, inProject, NODE_STORY_ENGINES, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createKey } from '../support/slices/resources.ts'

const MODEL = 'local/test-model'
const PATH = '/v1/prices/local/test-model'
const RATES = { input: 1, output: 10 }
const ANSWER = { text: ['Calm.'], usage: { prompt_tokens: 1_000, completion_tokens: 100 } }
const CONFIGURED = [
  { model: 'fixed/one', input: 5, output: 6 },
  { model: 'gateway/*', input: 7, output: 8 },
]

for (const engine of NODE_STORY_ENGINES) {
  describe(`a project's own prices, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine, {
        ...LOCAL_TOOLS,
        MOORAGE_PRICES: JSON.stringify(CONFIGURED),
      }))
    })
    after(() => stop())
    beforeEach(() => model.reset())

    const set = (path: string, body: object, key?: string) => service.call('PUT', path, { body, ...(key && { key }) })
    const priceOf = async (name: string, of: Pick<Service, 'call'> = service) => {
      const { body } = await of.call('GET', '/v1/prices?limit=100')
      return body.data.find(({ model: listed }: { model: string }) => listed === name)
    }
    const invoke = (agent: string, of: Pick<Service, 'call'> = service) =>
      of.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?' } })
    const costOf = async (agent: string, of?: Pick<Service, 'call'>) => {
      model.reply(ANSWER)
      const { status, body, text } = await invoke(agent, of)
      assert.equal(status, 200, text)
      const receipt = await service.call('GET', `/v1/agents/${agent}/invocations/${body.data.request_id}`)
      return receipt.body.data.cost_usd
    }

    test('PUT sets one for later calls, GET names it as the source, and DELETE removes it', async () => {
      const agent = await newAgent(service, { model: MODEL })
      assert.equal(await costOf(agent), null)
      const { status, body, text } = await set(PATH, RATES)
      assert.equal(status, 200, text)
      const whole = { input: 1, cached_input: 1, cache_write: 1, output: 10, reasoning: 10, request: 0 }
      const price = { model: MODEL, source: 'api', set_for: MODEL, version: null, ...whole, tiers: [] }
      assert.deepEqual(body.data, price)
      assert.deepEqual(await priceOf(MODEL), price)
      assert.equal(await costOf(agent), 0.002)
      await set(PATH, { ...RATES, cached_input: 0.5, cache_write: 1.25, request: 0.25 })
      assert.deepEqual(await priceOf(MODEL), { ...price, cached_input: 0.5, cache_write: 1.25, request: 0.25 })
      assert.equal(await costOf(agent), 0.252)
      const deleted = await service.call('DELETE', PATH)
      assert.deepEqual([deleted.status, deleted.body.data], [200, { model: MODEL, deleted: true }])
      assert.equal((await priceOf(MODEL)).source, 'unknown')
      assert.equal(await costOf(agent), null)
      assert.equal((await service.call('DELETE', PATH)).status, 404)
    })

    test('a model with slashes in its name is URL-encoded, and * stands for all other models of a provider', async () => {
      const { body } = await set('/v1/prices/local/meta%2Fllama%203', RATES)
      assert.equal(body.error.code, 'invalid_request', JSON.stringify(body))
      assert.equal((await set('/v1/prices/local/meta%2Fllama-3', RATES)).body.data.model, 'local/meta/llama-3')
      assert.equal((await set('/v1/prices/local/meta/llama-3', RATES)).status, 404)
      assert.equal((await set('/v1/prices/local/*', { input: 0, output: 20 })).status, 200)
      assert.equal(await costOf(await newAgent(service, { model: 'local/meta/llama-3' })), 0.002)
      assert.equal(await costOf(await newAgent(service, { model: 'local/other' })), 0.002)
      assert.equal((await priceOf('local/meta/llama-3')).set_for, 'local/meta/llama-3')
      assert.equal((await priceOf('local/other')).set_for, 'local/*')
      for (const name of ['meta%2Fllama-3', '*']) await service.call('DELETE', `/v1/prices/local/${name}`)
    })

    test('409 for a model or provider with a price in moorage.yaml, which always wins', async () => {
      for (const path of ['/v1/prices/fixed/one', '/v1/prices/gateway/any', '/v1/prices/gateway/*']) {
        const reply = await set(path, RATES)
        assert.equal(reply.status, 409, reply.text)
      }
      assert.equal((await set('/v1/prices/fixed/*', RATES)).status, 200)
      assert.deepEqual(
        [(await priceOf('fixed/one')).source, (await priceOf('fixed/*')).source],
        ['configuration', 'api'],
      )
    })

    test('400 for invalid rates', async () => {
      for (const body of [{}, { input: -1, output: 1 }, { input: 1 }, { ...RATES, other: 1 }]) {
        assert.equal((await set(PATH, body)).status, 400)
      }
    })

    test("a project's prices apply only to that project", async () => {
      await service.call('POST', '/v1/projects', { body: { name: 'shop' } })
      const shop = inProject(service, 'shop')
      assert.equal((await shop.call('PUT', PATH, { body: RATES })).status, 200)
      assert.equal((await set('/v1/prices/local/*', RATES)).status, 200)
      assert.deepEqual([(await priceOf(MODEL, shop)).set_for, await priceOf('local/*', shop)], [MODEL, undefined])
      assert.equal((await priceOf(MODEL)).set_for, 'local/*')
      await service.call('DELETE', '/v1/prices/local/*')
    })

    test('setting one requires manage on the whole project, and is in the audit log', async () => {
      const agent_id = await newAgent(service, { model: MODEL })
      for (const body of [{ role: 'developer' }, { role: 'admin', agent_id }]) {
        const { secret } = await createKey(service, body)
        assert.equal((await set(PATH, RATES, secret)).status, 403)
        assert.equal((await service.call('DELETE', PATH, { key: secret })).status, 403)
      }
      assert.equal((await set(PATH, RATES)).status, 200)
      const { body } = await service.call('GET', '/v1/audit-log?limit=1')
      const [{ action, target }] = body.data
      assert.deepEqual([action, target], ['setPrice', 'local/test-model'])
      await service.call('DELETE', PATH)
    })

    test('a budget in dollars allows the model afterwards', async () => {
      const agent = await newAgent(service, { model: MODEL, limits: { max_output_tokens: 10 } })
      const body = { name: 'usd', scope: { type: 'agent', id: agent }, limit: { cost_usd: 1 }, per: 'ever' }
      await service.call('POST', '/v1/budgets', { body })
      assert.equal((await invoke(agent)).status, 429)
      await set(PATH, RATES)
      assert.equal(await costOf(agent), 0.002)
      await service.call('DELETE', PATH)
    })

    test("repricing applies to the past, and a call's reservation is not added to its run's cost", async () => {
      const tools = [{ type: 'http', name: 'look', url: NOWHERE, input_schema: { type: 'object' } }]
      const agent = await newAgent(service, { model: MODEL, tools, limits: { max_output_tokens: 1_000 } })
      const body = { name: 'tokens', scope: { type: 'agent', id: agent }, limit: { tokens: 100_000 }, per: 'ever' }
      await service.call('POST', '/v1/budgets', { body })
      await set(PATH, RATES)
      const from = new Date(service.now() - 60_000).toISOString()
      const answered = Promise.withResolvers<void>()
      model.reply({ calls: [{ name: 'look', arguments: {} }], usage: ANSWER.usage }, ANSWER)
      const first = model.nextRequest()
      const invoked = invoke(agent)
      await first
      model.holdNext(answered.promise)
      await model.nextRequest()
      await set(PATH, { input: 2, output: 20 })
      const repriced = await service.call('POST', '/v1/usage/reprice', { body: { from } })
      assert.equal(repriced.status, 200, repriced.text)
      const spent = await service.call('GET', `/v1/usage?agent_id=${agent}`)
      assert.equal(spent.body.data.totals.cost_usd, 0.004, spent.text)
      answered.resolve()
      assert.equal((await invoked).status, 200)
      await service.call('DELETE', PATH)
    })

    betweenNodes(engine)('a price set on one node applies on all nodes', async () => {
      const agent = await newAgent(service, { model: MODEL })
      const node = await service.beside()
      try {
        assert.equal(await costOf(agent, node), null)
        await set(PATH, RATES)
        await until('the other node uses the price', async () => (await costOf(agent, node)) === 0.002)
      } finally {
        await service.call('DELETE', PATH)
        await node.stop()
      }
    })
  })
}
