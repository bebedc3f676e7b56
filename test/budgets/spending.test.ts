import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { DOORS } from '../support/clients/doors.ts'
import { storeOf } from '../support/inside.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { meanwhile } from '../support/running/meanwhile.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { betweenNodes, NODE_STORY_ENGINES, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { approver, decide, startWaiting, untilStatus } from '../support/slices/approvals.ts'

const MODEL = 'local/test-model'
const ANSWER = { text: ['Calm.'], usage: { prompt_tokens: 11, completion_tokens: 4 } }

for (const engine of NODE_STORY_ENGINES) {
  describe(`spending against budgets on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
    })
    after(() => stop())
    beforeEach(() => model.reset())

    const budget = async (body: object) => {
      const reply = await service.call('POST', '/v1/budgets', { body: { name: 'test', per: 'ever', ...body } })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.data.id as string
    }
    const spentOf = async (id: string, subject = '') => {
      const { used, reserved } = (await service.call('GET', `/v1/budgets/${id}?subject=${subject}`)).body.data
      return { used, reserved }
    }
    const invoke = (agent: string, context = {}, headers = {}) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?', context }, headers })
    const agentWith = (limits = {}) => newAgent(service, { model: MODEL, limits })
    const db = () => storeOf(service)

    test('each run is counted, and 429 when none is left', async () => {
      const agent = await agentWith()
      const id = await budget({ scope: { type: 'agent', id: agent }, limit: { runs: 2 }, per: 'day' })
      assert.equal((await invoke(agent)).status, 200)
      assert.equal((await invoke(agent)).status, 200)
      assert.deepEqual(await spentOf(id), { used: 2, reserved: 0 })
      const reply = await invoke(agent)
      assert.equal(reply.status, 429, reply.text)
      const { code, message, details, retry_after } = reply.body.error
      assert.equal(code, 'budget_exceeded')
      assert.equal(
        message,
        `The budget "test" doesn't have enough left: 2 runs of 2 runs used, and this call could need 1 run.`,
      )
      assert.deepEqual(details, [
        { field: 'budget_id', error: id },
        { field: 'used', error: '2 runs' },
        { field: 'limit', error: '2 runs' },
      ])
      assert.ok(retry_after >= 1 && retry_after <= 86_400)
      assert.equal(reply.headers.get('retry-after'), String(retry_after))
      assert.equal(model.requests.length, 2, 'the third call was not made')
      const receipt = await service.call('GET', `/v1/agents/${agent}/invocations/${reply.body.request_id}`)
      assert.deepEqual(receipt.body.data.error, { code, message, details, retry_after })
    })

    test("a call's actual usage is counted, not its reservation, and its usage entry shows that", async () => {
      const agent = await agentWith({ max_output_tokens: 100 })
      const id = await budget({ scope: { type: 'agent', id: agent }, limit: { tokens: 1000 } })
      model.reply(ANSWER)
      const asked = Promise.withResolvers<void>()
      model.holdNext(asked.promise)
      const seen = model.nextRequest()
      const invoked = invoke(agent)
      await seen
      const { used, reserved } = await spentOf(id)
      assert.ok(used === 0 && reserved > 100, `${reserved} are held`)
      asked.resolve()
      assert.equal((await invoked).status, 200)
      assert.deepEqual(await spentOf(id), { used: 15, reserved: 0 })
      const [line] = await db().selectFrom('ledger').selectAll().where('agent_id', '=', agent).execute()
      assert.deepEqual(
        [line?.status, line?.input_tokens, line?.output_tokens, line?.charges, line?.owner, line?.lease_until],
        ['completed', 11, 4, null, null, null],
      )
    })

    test('the provider gets max_tokens for the longest answer, because the estimate relies on it', async () => {
      const agent = await agentWith()
      await budget({ scope: { type: 'agent', id: agent }, limit: { tokens: 100_000 } })
      await invoke(agent)
      assert.equal(model.requests[0]?.body['max_tokens'], 4096)
    })

    test('an answer is cut to what is left if the agent has cut_to_budget', async () => {
      const agent = await agentWith({ cut_to_budget: true })
      const id = await budget({ scope: { type: 'agent', id: agent }, limit: { tokens: 2000 } })
      model.reply(ANSWER)
      assert.equal((await invoke(agent)).status, 200)
      const most = Number(model.requests[0]?.body['max_tokens'])
      assert.ok(most >= 16 && most < 2000, String(most))
      assert.deepEqual(await spentOf(id), { used: 15, reserved: 0 })
    })

    test('a budget in dollars refuses a model without a price, and says how to set one', async () => {
      const agent = await agentWith()
      await budget({ scope: { type: 'agent', id: agent }, limit: { cost_usd: 1 } })
      const reply = await invoke(agent)
      assert.equal(reply.status, 429, reply.text)
      assert.match(reply.body.error.message, /"test".*"local\/test-model" has no price/)
      assert.equal(model.requests.length, 0)
    })

    test('a service budget does not reveal its name or total spending to projects', async () => {
      const agent = await agentWith()
      const id = await budget({ name: 'secret', scope: { type: 'service' }, limit: { runs: 1 } })
      assert.equal((await invoke(agent)).status, 200)
      const { status, body } = await invoke(agent)
      await service.call('DELETE', `/v1/budgets/${id}`)
      const { code, message, details } = body.error
      assert.deepEqual([status, code], [429, 'budget_exceeded'])
      assert.equal(message, "A budget of the service doesn't have enough left for this call.")
      assert.deepEqual(details, [{ field: 'budget_id', error: id }])
    })

    test('every channel reports an exhausted budget with its own error code', async () => {
      const agent = await agentWith()
      await budget({ scope: { type: 'agent', id: agent }, limit: { runs: 1 } })
      assert.equal((await invoke(agent)).status, 200)
      const { name } = (await service.call('GET', `/v1/agents/${agent}`)).body.data
      const told: Record<string, unknown> = {}
      for (const [door, ask] of Object.entries(DOORS)) {
        told[door] = await ask(service, { agent: name, message: 'And now?', key: service.admin })
      }
      const refused = { code: 'budget_exceeded', status: 429 }
      const openai = { code: 'insufficient_quota', status: 429 }
      assert.deepEqual(told, {
        api: refused,
        openai,
        'openai responses': openai,
        mcp: refused,
        'mcp of an agent': refused,
        a2a: { code: 'TASK_STATE_FAILED', status: 200 },
        'ag-ui': { code: 'budget_exceeded', status: 200 },
      })
      const streamed = await invoke(agent, {}, { Accept: 'text/event-stream' })
      assert.match(streamed.text, /event: error\ndata: .*"code":"budget_exceeded"/)
    })

    test('a per-user budget limits each user separately, and every budget that applies must have enough left', async () => {
      const agent = await agentWith()
      const each = await budget({ scope: { type: 'user' }, limit: { runs: 2 } })
      const all = await budget({ scope: { type: 'agent', id: agent }, limit: { runs: 3 } })
      const statuses = []
      for (const user_id of ['ada', 'bob', 'bob', 'bob', 'cyd'])
        statuses.push((await invoke(agent, { user_id })).status)
      assert.deepEqual(statuses, [200, 200, 200, 429, 429])
      assert.deepEqual(await spentOf(each, 'ada'), { used: 1, reserved: 0 })
      const { subject, used } = (await service.call('GET', `/v1/budgets/${each}`)).body.data
      assert.deepEqual([subject, used], ['bob', 2], 'without a subject, the one that has used the most is shown')
      assert.deepEqual(await spentOf(each, 'cyd'), { used: 0, reserved: 0 })
      assert.deepEqual(await spentOf(all), { used: 3, reserved: 0 })
      assert.equal((await service.call('DELETE', '/v1/users/ada')).status, 200)
      assert.deepEqual(await spentOf(each, 'ada'), { used: 0, reserved: 0 }, 'an erased user is not counted any more')
      await service.call('DELETE', `/v1/budgets/${each}`)
    })

    test('a budget that only notifies counts, but refuses nothing', async () => {
      const agent = await agentWith()
      const id = await budget({ scope: { type: 'agent', id: agent }, limit: { tokens: 10 }, action: 'notify' })
      model.reply(ANSWER)
      assert.equal((await invoke(agent)).status, 200)
      assert.deepEqual(await spentOf(id), { used: 15, reserved: 0 })
    })

    test('a budget in runs that only notifies counts a run once, even if it waited for a person', async () => {
      const look = { type: 'http', name: 'look', url: NOWHERE, input_schema: { type: 'object' }, approval: 'always' }
      const agent = await newAgent(service, { model: MODEL, tools: [look] })
      const id = await budget({ scope: { type: 'agent', id: agent }, limit: { runs: 10 }, action: 'notify' })
      model.reply({ calls: [{ name: 'look', arguments: {} }], usage: ANSWER.usage }, ANSWER)
      const { path, approval } = await startWaiting(service, agent, 'How is the sea?')
      const decided = await decide(service, approval, await approver(service), { decision: 'reject' })
      assert.equal(decided.status, 200, decided.text)
      await untilStatus(service, path, 'completed')
      assert.equal(model.requests.length, 2)
      assert.deepEqual(await spentOf(id), { used: 1, reserved: 0 })
    })

    test('a user erased during a call does not get a larger budget than others', async () => {
      const agent = await agentWith({ max_output_tokens: 100 })
      const each = await budget({ scope: { type: 'user' }, limit: { tokens: 1000 } })
      const ada = { user_id: 'ada' }
      model.reply(ANSWER, ANSWER)
      assert.equal((await invoke(agent, ada)).status, 200)
      const answered = Promise.withResolvers<void>()
      model.holdNext(answered.promise)
      const seen = model.nextRequest()
      const invoked = invoke(agent, ada)
      await seen
      const held = await spentOf(each, 'ada')
      assert.ok(held.used === 15 && held.reserved > 100, JSON.stringify(held))
      assert.equal((await service.call('DELETE', '/v1/users/ada')).status, 200)
      assert.deepEqual(await spentOf(each, 'ada'), { used: 0, reserved: held.reserved })
      answered.resolve()
      assert.equal((await invoked).status, 200)
      assert.deepEqual(await spentOf(each, 'ada'), { used: 15, reserved: 0 })
      assert.equal((await service.call('DELETE', '/v1/users/ada')).status, 200)
      const left = await db().selectFrom('budget_counters').selectAll().where('budget_id', '=', each).execute()
      assert.deepEqual(left, [])
      await service.call('DELETE', `/v1/budgets/${each}`)
    })

    test('of 200 simultaneous requests with a budget of 20 runs, exactly 20 are answered', async () => {
      const agent = await agentWith()
      const id = await budget({ scope: { type: 'agent', id: agent }, limit: { runs: 20 } })
      const replies = await Promise.all(Array.from({ length: 200 }, () => invoke(agent)))
      const count = (status: number) => replies.filter((reply) => reply.status === status).length
      assert.deepEqual([count(200), count(429)], [20, 180])
      assert.equal(model.requests.length, 20)
      assert.deepEqual(await spentOf(id), { used: 20, reserved: 0 })
    })

    /** What webhooks are told of the budgets of an agent. */
    const toldOf = async (agent: string) => {
      const rows = await db().selectFrom('events').select('body').where('agent_id', '=', agent).execute()
      return rows.map(({ body }) => JSON.parse(body)).filter(({ type }) => type.startsWith('budget'))
    }

    test('each threshold and the limit send one event', async () => {
      const agent = await agentWith()
      const id = await budget({ scope: { type: 'agent', id: agent }, limit: { runs: 4 }, thresholds: [50, 100] })
      const body = { agent_id: agent, url: 'https://example.com/hook', events: ['budget.threshold', 'budget.exceeded'] }
      assert.equal((await service.call('POST', '/v1/webhooks', { body })).status, 201)
      for (let i = 0; i < 6; i++) await invoke(agent)
      await until('all is told', async () => (await toldOf(agent)).length >= 3)
      const events = await toldOf(agent)
      assert.deepEqual(
        events.map(({ type, data }) => [type, data.budget_id, data.threshold]),
        [
          ['budget.threshold', id, 50],
          ['budget.threshold', id, 100],
          ['budget.exceeded', id, undefined],
        ],
      )
      assert.deepEqual(events[0].data, {
        budget_id: id,
        name: 'test',
        scope: { type: 'agent', id: agent },
        subject: null,
        limit: { runs: 4 },
        used: 2,
        per: 'ever',
        action: 'refuse',
        resets_at: null,
        threshold: 50,
      })
    })

    betweenNodes(engine)('two nodes that reach a threshold at the same time send one event', async () => {
      const [agent, other] = [await agentWith(), await agentWith()]
      const limit = { scope: { type: 'agent', id: agent }, limit: { runs: 3 }, thresholds: [30, 100], action: 'notify' }
      const id = await budget(limit)
      const body = { agent_id: agent, url: 'https://example.com/hook', events: ['budget.threshold'] }
      assert.equal((await service.call('POST', '/v1/webhooks', { body })).status, 201)
      const node = await service.beside()
      try {
        const ask = (of: Service, name: string) =>
          of.call('POST', `/v1/agents/${name}/invoke`, { body: { message: 'Hi' } })
        // Both nodes have cached the budgets by now, and need them again only to send events.
        for (const each of [service, node]) assert.equal((await ask(each, other)).status, 200)
        const both = [service, node].map((each) => () => ask(each, agent))
        const replies = await meanwhile(service, 'lock table budgets in access exclusive mode', ...both)
        assert.deepEqual(
          replies.map(({ status }) => status),
          [200, 200],
        )
        assert.equal((await ask(node, agent)).status, 200)
        await until('the last is told', async () => (await toldOf(agent)).some(({ data }) => data.threshold === 100))
        assert.deepEqual(
          (await toldOf(agent)).map(({ data }) => [data.budget_id, data.threshold]),
          [
            [id, 30],
            [id, 100],
          ],
        )
      } finally {
        await node.stop()
      }
    })
  })
}
