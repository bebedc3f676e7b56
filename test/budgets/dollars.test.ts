import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { formatUsd } from '../../src/runtime/models/usage.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createWebhook, openInbox } from '../support/slices/webhooks.ts'

/** Dollars for a million tokens, and for each request. */
const PRICE = { model: 'local/priced', input: 10, cached_input: 1, output: 100, reasoning: 200, request: 0.001 }
const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 50,
  prompt_tokens_details: { cached_tokens: 400 },
  completion_tokens_details: { reasoning_tokens: 20 },
}
/** 600 of the input at $10, 400 cached at $1, 30 of the output at $100, 20 thought at $200, and one request. */
const COST = 0.0144
/** No tokenizer produces more tokens for it than the replies report. */
const MESSAGE = 'x'.repeat(1_000)

for (const engine of STORY_ENGINES) {
  describe(`a budget in dollars on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      const settings = { ...LOCAL_TOOLS, MOORAGE_PRICES: JSON.stringify([PRICE]) }
      ;({ service, model, stop } = await startWithModel(engine, settings))
    })
    after(() => stop())
    beforeEach(() => {
      model.reset()
      for (let i = 0; i < 5; i++) model.reply({ text: ['Calm.'], usage: USAGE })
    })

    const furnish = async (limits = {}, name: string | string[] = 'local/priced') => {
      const agent = await newAgent(service, { model: name, limits: { max_output_tokens: 50, ...limits } })
      const scope = { type: 'agent', id: agent }
      const body = { name: 'dollars', scope, limit: { cost_usd: 0.05 }, per: 'day' }
      return { agent, budget: (await service.call('POST', '/v1/budgets', { body })).body.data.id as string }
    }
    const invoke = (agent: string) => service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: MESSAGE } })
    const spentOf = async (budget: string) => {
      const { used, reserved } = (await service.call('GET', `/v1/budgets/${budget}`)).body.data
      return { used, reserved }
    }

    test('is spent to the cent, and refuses a call that could cost more than is left', async () => {
      const { agent, budget } = await furnish()
      const first = await invoke(agent)
      assert.equal(first.status, 200, first.text)
      assert.deepEqual(await spentOf(budget), { used: COST, reserved: 0 })
      assert.equal((await invoke(agent)).status, 200)
      const refused = await invoke(agent)
      assert.equal(refused.status, 429, refused.text)
      const { code, message, details, retry_after } = refused.body.error
      assert.equal(code, 'budget_exceeded')
      const need =
        /^The budget "dollars" doesn't have enough left: \$0\.0288 of \$0\.05 used, and this call could need \$(0\.\d+)\.$/.exec(
          message,
        )
      assert.ok(Number(need?.[1]) > COST, message)
      assert.deepEqual(details, [
        { field: 'budget_id', error: budget },
        { field: 'used', error: '$0.0288' },
        { field: 'limit', error: '$0.05' },
      ])
      assert.ok(retry_after >= 1 && retry_after <= 86_400)
      assert.equal(model.requests.length, 2)

      const receipt = await service.call('GET', `/v1/agents/${agent}/invocations/${first.body.data.request_id}`)
      assert.equal(receipt.body.data.cost_usd, COST)
      const sums = await service.call('GET', `/v1/usage?agent_id=${agent}`)
      const { calls, cached_tokens, reasoning_tokens, cost_usd } = sums.body.data.totals
      assert.deepEqual(
        { calls, cached_tokens, reasoning_tokens, cost_usd },
        {
          calls: 2,
          cached_tokens: 800,
          reasoning_tokens: 40,
          cost_usd: 2 * COST,
        },
      )
      assert.deepEqual(await spentOf(budget), { used: 2 * COST, reserved: 0 })
    })

    test('the answer is cut to the dollars that are left if the agent has cut_to_budget', async () => {
      const { agent } = await furnish({ cut_to_budget: true })
      for (let i = 0; i < 3; i++) assert.equal((await invoke(agent)).status, 200)
      const asked = model.requests.map(({ body }) => Number(body['max_tokens']))
      assert.deepEqual(asked.slice(0, 2), [50, 50])
      assert.ok((asked[2] ?? 0) >= 16 && (asked[2] ?? 50) < 50, String(asked))
    })

    test('a model without a price is refused with a message that says how to set one, and costs nothing', async () => {
      const { agent, budget } = await furnish({}, 'local/unknown')
      const { status, body } = await invoke(agent)
      assert.deepEqual(
        [status, body.error.message],
        [
          429,
          'The budget "dollars" is in dollars, but the model "local/unknown" has no price. Set one with `moorage prices set`, or under `prices` in moorage.yaml.',
        ],
      )
      assert.equal(body.error.retry_after, undefined)
      assert.deepEqual([model.requests.length, await spentOf(budget)], [0, { used: 0, reserved: 0 }])
    })

    test('the event and the log entry at the end of a run contain its cost', async (t) => {
      const inbox = await openInbox(t)
      const { agent } = await furnish()
      await createWebhook(service, { agent_id: agent, url: inbox.url, events: ['agent.completed', 'agent.failed'] })
      const unpriced = await newAgent(service, { model: 'local/unknown' })
      await createWebhook(service, { agent_id: unpriced, url: inbox.url, events: ['agent.completed'] })
      await invoke(agent)
      await invoke(agent)
      assert.equal((await invoke(agent)).status, 429)
      assert.equal((await invoke(unpriced)).status, 200)
      const told = (await inbox.first(4)).map(({ body }) => JSON.parse(body))
      assert.deepEqual(told.map(({ type, data }) => [type, data.cost_usd]).toSorted(), [
        ['agent.completed', null],
        ['agent.completed', COST],
        ['agent.completed', COST],
        ['agent.failed', 0],
      ])
      const costsOf = async (id: string) => {
        const { body } = await service.call('GET', `/v1/agents/${id}/logs?search=Invocation`)
        return body.data.map(({ metadata }: { metadata: { cost_usd: unknown } }) => metadata.cost_usd)
      }
      assert.deepEqual(await until('the log', () => costsOf(agent)), [0, COST, COST])
      assert.deepEqual(await costsOf(unpriced), [null])
    })
  })
}

test('dollars are written in figures, however small the amount', () => {
  const told = [1, 50, 123_456_789, 30_414_000, 6_160_000_000, 1_234_567_890_000_000].map(formatUsd)
  assert.deepEqual(told, ['$0.000000001', '$0.00000005', '$0.123457', '$0.030414', '$6.16', '$1234570'])
})
