import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { storeOf } from '../support/inside.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const MODEL = 'local/test-model'
const USAGE = { prompt_tokens: 11, completion_tokens: 4 }
const ANSWER = { text: ['Calm.'], usage: USAGE }
/** Dollars for a million tokens, and for each request. */
const PRICES = [{ model: MODEL, input: 1, output: 10, request: 0.001 }]

for (const engine of STORY_ENGINES) {
  describe(`amounts that calls reserve in budgets, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let tool: LocalServer
    let toolIsAsked: () => void
    let toolMayAnswer: Promise<void>
    let stop: () => Promise<void>
    before(async () => {
      tool = await startLocalServer(async (_request, response) => {
        toolIsAsked()
        await toolMayAnswer
        response.end('4 knots')
      })
      const { hostname } = new URL(tool.url)
      const settings = { MOORAGE_PRICES: JSON.stringify(PRICES), MOORAGE_OUTGOING__ALLOW_INSECURE: 'true' }
      const reach = { MOORAGE_OUTGOING__ALLOWED_CIDRS: `${hostname}/32` }
      ;({ service, model, stop } = await startWithModel(engine, { ...settings, ...reach }))
    })
    after(async () => {
      await stop()
      await tool.close()
    })
    beforeEach(() => {
      model.reset()
      toolIsAsked = () => {}
      toolMayAnswer = Promise.resolve()
    })
    /** Holds the tool's next reply until the test releases it. */
    const holdTool = () => {
      const seen = Promise.withResolvers<void>()
      const answered = Promise.withResolvers<void>()
      toolIsAsked = seen.resolve
      toolMayAnswer = answered.promise
      return { seen: seen.promise, answer: () => answered.resolve() }
    }

    const budget = async (agent: string, limit: object) => {
      const body = { name: 'test', per: 'ever', scope: { type: 'agent', id: agent }, limit, thresholds: [100] }
      const reply = await service.call('POST', '/v1/budgets', { body })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.data.id as string
    }
    const spentOf = async (id: string) => {
      const { used, reserved } = (await service.call('GET', `/v1/budgets/${id}`)).body.data
      return { used, reserved }
    }
    const invoke = (agent: string, more = {}) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?' }, ...more })
    const agentWith = (max_output_tokens: number, more = {}) =>
      newAgent(service, { model: MODEL, limits: { max_output_tokens }, ...more })
    const eventsOf = async (agent: string) => {
      const rows = await storeOf(service).selectFrom('events').select('body').where('agent_id', '=', agent).execute()
      return rows.map(({ body }) => JSON.parse(body).type as string).filter((type) => type.startsWith('budget'))
    }

    test('each call of a run releases its reservation before the next one', async () => {
      const tools = [{ type: 'http', name: 'look', url: tool.url, input_schema: { type: 'object' } }]
      const agent = await agentWith(1000, { tools })
      const id = await budget(agent, { tokens: 5000 })
      const looks = Array.from({ length: 5 }, (_, at) => ({
        calls: [{ name: 'look', arguments: { at } }],
        usage: USAGE,
      }))
      model.reply(...looks, ANSWER)
      const reply = await invoke(agent)
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(await spentOf(id), { used: 6 * 15, reserved: 0 })
      const usage = await service.call('GET', `/v1/usage?agent_id=${agent}`)
      assert.equal(usage.body.data.totals.calls, 6)
    })

    test('a call releases its reservation when the model has answered, while its tool is still running', async () => {
      const tools = [{ type: 'http', name: 'look', url: tool.url, input_schema: { type: 'object' } }]
      const agent = await agentWith(1000, { tools })
      const id = await budget(agent, { tokens: 5000 })
      model.reply({ calls: [{ name: 'look', arguments: {} }], usage: USAGE }, ANSWER)
      const looked = holdTool()
      const invoked = invoke(agent)
      await looked.seen
      await until('it is settled', async () => (await spentOf(id)).used === 15)
      assert.deepEqual(await spentOf(id), { used: 15, reserved: 0 })
      looked.answer()
      assert.equal((await invoked).status, 200)
      assert.deepEqual(await spentOf(id), { used: 30, reserved: 0 })
      const usage = await service.call('GET', `/v1/usage?agent_id=${agent}`)
      assert.equal(usage.body.data.totals.calls, 2)
    })

    test("a call waits while others' reservations could still be released, and no budget event is sent", async () => {
      const agent = await agentWith(1000)
      await service.call('POST', '/v1/webhooks', {
        body: { agent_id: agent, url: 'https://example.com/hook', events: ['budget.threshold', 'budget.exceeded'] },
      })
      const id = await budget(agent, { tokens: 2000 })
      const answered = Promise.withResolvers<void>()
      model.reply(ANSWER, ANSWER)
      model.holdNext(answered.promise)
      const seen = model.nextRequest()
      const first = invoke(agent)
      await seen
      const second = invoke(agent)
      await until('both runs are there', async () => {
        const { body } = await service.call('GET', `/v1/agents/${agent}/invocations?status=running`)
        return body.pagination.total === 2
      })
      answered.resolve()
      assert.deepEqual([(await first).status, (await second).status], [200, 200])
      assert.deepEqual(await spentOf(id), { used: 30, reserved: 0 })
      assert.deepEqual(await eventsOf(agent), [])
    })

    test('after a limit is raised, its events are sent again', async () => {
      const agent = await agentWith(1000)
      await service.call('POST', '/v1/webhooks', {
        body: { agent_id: agent, url: 'https://example.com/hook', events: ['budget.threshold', 'budget.exceeded'] },
      })
      const id = await budget(agent, { runs: 1 })
      const told = ['budget.threshold', 'budget.exceeded']
      for (const expected of [told, [...told, ...told]]) {
        assert.equal((await invoke(agent)).status, 200)
        assert.equal((await invoke(agent)).status, 429)
        await until('it is told', async () => (await eventsOf(agent)).length === expected.length)
        assert.deepEqual(await eventsOf(agent), expected)
        await service.call('PATCH', `/v1/budgets/${id}`, { body: { limit: { runs: 2 } } })
      }
    })

    test("a run that waits for others' reservations can be cancelled immediately", async () => {
      const agent = await agentWith(1000)
      await budget(agent, { tokens: 2000 })
      const answered = Promise.withResolvers<void>()
      model.holdNext(answered.promise)
      const seen = model.nextRequest()
      const first = invoke(agent)
      await seen
      const second = await invoke(agent, { headers: { Prefer: 'respond-async' } })
      const { request_id } = second.body.data
      const path = `/v1/agents/${agent}/invocations/${request_id}`
      const statusOf = async () => (await service.call('GET', path)).body.data.status
      await until('it runs', async () => (await statusOf()) === 'running')
      await service.call('POST', `${path}/cancel`)
      await until('it is cancelled', async () => (await statusOf()) === 'cancelled')
      assert.equal(model.requests.length, 1)
      answered.resolve()
      assert.equal((await first).status, 200)
    })

    test("the reservation includes the answer's schema, like every byte sent to the provider", async () => {
      const agent = await agentWith(10)
      const id = await budget(agent, { tokens: 100_000 })
      const { name } = (await service.call('GET', `/v1/agents/${agent}`)).body.data
      const properties = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`field_${at}`, { type: 'string' }]))
      const json_schema = { name: 'record', schema: { type: 'object', properties } }
      const answered = Promise.withResolvers<void>()
      model.reply({ text: ['{}'], usage: USAGE })
      model.holdNext(answered.promise)
      const seen = model.nextRequest()
      const messages = [{ role: 'user', content: 'A record' }]
      const asked = service.call('POST', '/v1/chat/completions', {
        body: { model: name, messages, response_format: { type: 'json_schema', json_schema } },
      })
      const early = await Promise.race([seen.then(() => undefined), asked])
      assert.equal(early?.text, undefined)
      const { reserved } = await spentOf(id)
      assert.ok(reserved > JSON.stringify(json_schema.schema).length, `${reserved} are held`)
      answered.resolve()
      assert.equal((await asked).status, 200)
    })

    test('an interrupted call is counted as one request plus what a model can have written by then', async () => {
      const agent = await agentWith(1000)
      const id = await budget(agent, { cost_usd: 1 })
      const cost = async (wait_ms: number) => {
        const { used } = await spentOf(id)
        const began = performance.now()
        model.holdNext(new Promise(() => {}))
        const seen = model.nextRequest()
        const begun = await invoke(agent, { headers: { Prefer: 'respond-async' } })
        await seen
        await sleep(wait_ms)
        // A jump of the clock must not count as time in which the model could have written.
        service.advance(60_000)
        const path = `/v1/agents/${agent}/invocations/${begun.body.data.request_id}`
        await service.call('POST', `${path}/cancel`)
        await until('it is counted', async () => (await spentOf(id)).used > used)
        const most = 0.001 + 0.0005 + (performance.now() - began) * USD_PER_MS
        return { cost: (await spentOf(id)).used - used, most }
      }
      // 200 tokens a second for $10 a million.
      const USD_PER_MS = 0.000_002
      for (const wait_ms of [0, 1_000]) {
        const { cost: charged, most } = await cost(wait_ms)
        assert.ok(charged >= 0.001 + wait_ms * USD_PER_MS && charged <= most, `${charged} of ${most}`)
      }
    })
  })
}
