import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { listUntold } from '../../src/budgets/desk/counter-store.ts'
import * as budgets from '../../src/budgets/store.ts'
import { spenderOf } from '../../src/operation/spending.ts'
import { partsOf, storageOf, storeOf } from '../support/inside.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const MODEL = 'local/test-model'
const ANSWER = { text: ['Calm.'], usage: { prompt_tokens: 11, completion_tokens: 4 } }
/** How long a call waits for what others hold. */
const PATIENCE_MS = 30_000

for (const engine of STORY_ENGINES) {
  describe(`calls that wait for a budget, on ${engine}`, () => {
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
    const invoke = (agent: string, context = {}, message = 'How is the sea?') =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
    const agentWith = (max_output_tokens: number) => newAgent(service, { model: MODEL, limits: { max_output_tokens } })
    /** A call that has come to the model, which does not answer yet. */
    const slowCall = async (agent: string, context = {}) => {
      const answered = Promise.withResolvers<void>()
      model.reply(ANSWER)
      model.holdNext(answered.promise)
      const seen = model.nextRequest()
      const reply = invoke(agent, context)
      await seen
      return { reply, answer: () => answered.resolve() }
    }
    const areRunning = (agent: string, count: number) =>
      until(`${count} runs are there`, async () => {
        const { body } = await service.call('GET', `/v1/agents/${agent}/invocations?status=running`)
        return body.pagination.total === count
      })

    test('calls with more budgets than one transaction locks are granted and counted, and so are those of other projects', async () => {
      const storage = storageOf(service)
      const { now } = service
      const { spending, newId } = partsOf(service)
      const newProject = async (name: string) =>
        (await service.call('POST', '/v1/projects', { body: { name } })).body.data.id as string
      const [crowded, other] = [await newProject('crowded'), await newProject('other')]
      const insert = (scope_type: 'user' | 'project', project_id: string) => {
        const kind = { limit_kind: 'tokens', per: 'ever', action: 'refuse' } as const
        const whose = { project_id, scope_type, agent_id: null, scope_id: null }
        const made = { id: newId('bud', now()), created_by: 'test', created_at: now(), updated_at: now() }
        const row = { name: 'test', amount: 1_000, timezone: 'UTC', thresholds: [], ...kind, ...whose, ...made }
        return storage.transaction((db) => budgets.insert(db, row))
      }
      const [budgetsMade, users] = [60, 40]
      for (let made = 0; made < budgetsMade; made++) await insert('user', crowded)
      await insert('project', other)

      const planned = { model: 'builtin/echo', attempt: null, step: null, max_output_tokens: 100 }
      const call = async (project_id: string, user_id: string) => {
        const meter = spending.meter(spenderOf({ project_id, user_id, purpose: 'test' }))
        const { end } = await meter.begin({ ...planned, mostInputTokens: () => 10 })
        end('completed', { input_tokens: 1, output_tokens: 1 })
        await meter.flush()
      }
      const ofMany = Array.from({ length: users }, (_, i) => call(crowded, `user ${i}`))
      await Promise.all([...ofMany, call(other, 'user')])
      const counted = async (project_id: string) => {
        const counters = storeOf(service)
          .selectFrom('budget_counters as c')
          .innerJoin('budgets as b', 'b.id', 'c.budget_id')
        const rows = await counters.select(['c.used', 'c.reserved']).where('b.project_id', '=', project_id).execute()
        assert.ok(rows.every(({ used, reserved }) => used === 2 && reserved === 0))
        return rows.length
      }
      assert.deepEqual([await counted(crowded), await counted(other)], [budgetsMade * users, 1])
    })

    for (const [what, change] of [
      ['raised', (id: string) => service.call('PATCH', `/v1/budgets/${id}`, { body: { limit: { tokens: 1e6 } } })],
      ['deleted', (id: string) => service.call('DELETE', `/v1/budgets/${id}`)],
      ['made to notify', (id: string) => service.call('PATCH', `/v1/budgets/${id}`, { body: { action: 'notify' } })],
    ] as const) {
      test(`a waiting call is made as soon as the budget is ${what}`, async () => {
        const agent = await agentWith(1000)
        const id = await budget({ scope: { type: 'agent', id: agent }, limit: { tokens: 2000 } })
        const slow = await slowCall(agent)
        const waiting = invoke(agent)
        await areRunning(agent, 2)
        assert.equal((await change(id)).status, 200)
        assert.equal((await waiting).status, 200, 'while the first is still under way')
        slow.answer()
        assert.equal((await slow.reply).status, 200)
      })
    }

    test('if several budgets are exhausted, the one that resets last determines retry_after', async () => {
      const [agent, other] = [await agentWith(1000), await agentWith(1000)]
      const user_id = `ada-${agent}`
      const held = await budget({ scope: { type: 'user', id: user_id }, limit: { tokens: 2000 } })
      const usedUp = await budget({ scope: { type: 'agent', id: agent }, limit: { runs: 1 }, per: 'month' })
      model.reply(ANSWER)
      assert.equal((await invoke(agent)).status, 200)
      const slow = await slowCall(other, { user_id })
      const { resets_at } = (await service.call('GET', `/v1/budgets/${usedUp}`)).body.data
      const seconds = Math.floor((Date.parse(resets_at) - service.now()) / 1000)
      const asked_at = performance.now()
      const { status, body } = await invoke(agent, { user_id })
      assert.equal(status, 429, JSON.stringify(body))
      assert.ok(performance.now() - asked_at < PATIENCE_MS / 2, 'it has not waited for the one that is held')
      assert.deepEqual(body.error.details[0], { field: 'budget_id', error: usedUp })
      assert.ok(Math.abs(body.error.retry_after - seconds) < 600, `${body.error.retry_after} of ${seconds}`)
      const { used, reserved } = (await service.call('GET', `/v1/budgets/${held}`)).body.data
      assert.ok(used === 0 && reserved > 0, 'the other one is only held')
      slow.answer()
      assert.equal((await slow.reply).status, 200)
    })

    test('a call that is too large does not send budget.exceeded; the event is sent when the budget is used up', async () => {
      const agent = await agentWith(10)
      await service.call('POST', '/v1/webhooks', {
        body: { agent_id: agent, url: 'https://example.com/hook', events: ['budget.exceeded'] },
      })
      await budget({ scope: { type: 'agent', id: agent }, limit: { tokens: 1000 }, thresholds: [] })
      const told = async () => {
        const events = storeOf(service).selectFrom('events').select('body').where('agent_id', '=', agent)
        return (await events.execute()).map(({ body }) => JSON.parse(body).data?.used)
      }
      assert.equal((await invoke(agent, {}, 'x'.repeat(3000))).status, 429)
      assert.deepEqual(await told(), [])
      model.reply({ text: ['Calm.'], usage: { prompt_tokens: 1040, completion_tokens: 10 } })
      assert.equal((await invoke(agent)).status, 200)
      assert.equal((await invoke(agent)).status, 429)
      assert.deepEqual(await told(), [1050])
    })

    test('a refused call is logged once', async () => {
      const agent = await agentWith(10)
      await budget({ scope: { type: 'agent', id: agent }, limit: { tokens: 5 } })
      assert.equal((await invoke(agent)).status, 429)
      const { body } = await service.call('GET', `/v1/agents/${agent}/logs?level=error`)
      assert.equal(body.data.length, 1, JSON.stringify(body.data))
      assert.match(
        body.data[0].message,
        /^Invocation failed: The budget "test" doesn't have enough left: 0 tokens of 5 tokens used/,
      )
    })

    test('counters with nothing to report do not delay a counter that has reached a threshold', async () => {
      const storage = storageOf(service)
      const { now } = service
      const id = await budget({ scope: { type: 'user' }, limit: { tokens: 100 }, thresholds: [50, 80] })
      const counter = (subject: string, used: number, told: number) => ({
        budget_id: id,
        subject,
        period_start: 0,
        used,
        reserved: 0,
        told,
        exceeded: 0,
        kept: 1,
      })
      const counters = [counter('a', 60, 50), counter('b', 95, 80), counter('c', 85, 50), counter('d', 79, 0)]
      // In one transaction, so that no one else sees the counters and reports them.
      await storage.transaction(async (db) => {
        const untold = async (limit: number) => (await listUntold(db, now(), limit)).map(({ subject }) => subject)
        await db.insertInto('budget_counters').values(counters).execute()
        assert.deepEqual(await untold(1_000), ['c', 'd'])
        assert.deepEqual(await untold(1), ['c'])
        const notifying = { thresholds: '[]', action: 'notify', amount: 90 }
        await db.updateTable('budgets').set(notifying).where('id', '=', id).execute()
        assert.deepEqual(await untold(1_000), ['b'])
        await db.updateTable('budgets').set({ thresholds: 'damaged' }).where('id', '=', id).execute()
        assert.deepEqual(await untold(1_000), ['b'])
      })
      await service.call('DELETE', `/v1/budgets/${id}`)
    })

    test('a call never reserves less than zero, whatever it requests', async () => {
      const agent_id = await agentWith(10)
      const id = await budget({ scope: { type: 'agent', id: agent_id }, limit: { tokens: 1000 } })
      const { spending } = partsOf(service)
      const meter = spending.meter(spenderOf({ project_id: 'prj_default', agent_id, purpose: 'test' }))
      for (const strange of [-1e9, Number.NaN, 0.5]) {
        const call = { model: MODEL, attempt: null, step: null, max_output_tokens: strange }
        const begun = await meter.begin({ ...call, mostInputTokens: () => strange })
        const { reserved } = (await service.call('GET', `/v1/budgets/${id}`)).body.data
        assert.equal(reserved, strange > 0 ? 2 : 0)
        begun.end('completed', { input_tokens: 0, output_tokens: 0 })
        await meter.flush()
      }
    })
  })
}
