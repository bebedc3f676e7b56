import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { betweenNodes, inProject, MANY_NODES, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { writeMemory } from '../support/slices/memory.ts'

const MODEL = 'local/test-model'
const ASYNC = { Prefer: 'respond-async' }
const HOUR_MS = 3_600_000

type Receipt = { steps: { kind: string; reason?: string }[] }

for (const engine of MANY_NODES) {
  describe(`runs that wait for room in a budget on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let tool: LocalServer
    let toolCalls = 0
    before(async () => {
      tool = await startLocalServer((_request, response) => {
        toolCalls += 1
        response.end('calm')
      })
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
    })
    after(async () => {
      await stop()
      await tool.close()
    })
    beforeEach(() => {
      model.reset()
      toolCalls = 0
    })

    const budget = async (agent: string, limit: object, per = 'ever') => {
      const body = { name: 'tight', per, scope: { type: 'agent', id: agent }, limit }
      const reply = await service.call('POST', '/v1/budgets', { body })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.data as { id: string; resets_at: string | null }
    }
    const raise = async (id: string, limit: object, at = service) => {
      const reply = await at.call('PATCH', `/v1/budgets/${id}`, { body: { limit } })
      assert.equal(reply.status, 200, reply.text)
    }
    const invoke = (agent: string, body: object = {}, headers: Record<string, string> = ASYNC) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?', ...body }, headers })
    const begin = async (agent: string, on_budget = 'wait') => {
      const reply = await invoke(agent, { on_budget })
      assert.equal(reply.status, 202, reply.text)
      return reply.body.data.request_id as string
    }
    const receiptOf = async (agent: string, request_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data
    const becomes = (agent: string, request_id: string, status: string) =>
      until(`the run to be ${status}`, async () => {
        const receipt = await receiptOf(agent, request_id)
        if (receipt.finished_at !== null) assert.equal(receipt.status, status, JSON.stringify(receipt.error))
        return receipt.status === status && receipt
      })
    /** An agent whose budget for one run is used up. */
    const agentWithout = async (per = 'ever') => {
      const agent = await newAgent(service, { model: MODEL })
      const { id, resets_at } = await budget(agent, { runs: 1 }, per)
      assert.equal((await invoke(agent, {}, {})).status, 200)
      model.reset()
      return { agent, id, resets_at }
    }
    const REFUSED = `The budget "tight" doesn't have enough left: 1 run of 1 run used, and this call could need 1 run.`

    test('a run waits, its receipt says why, and it continues when the budget is raised', async () => {
      const { agent, id } = await agentWithout()
      const request_id = await begin(agent)
      const waiting = await becomes(agent, request_id, 'waiting')
      assert.deepEqual(
        waiting.steps.map(({ kind, reason }: Record<string, unknown>) => ({ kind, reason })),
        [{ kind: 'wait', reason: REFUSED }],
      )
      assert.deepEqual([waiting.error, waiting.tokens_used, model.requests.length], [null, 0, 0])
      await raise(id, { runs: 2 })
      const receipt = await becomes(agent, request_id, 'completed')
      assert.deepEqual([receipt.response, receipt.attempts.length], ['How is the sea?', 2])
      const [wait, answer] = receipt.steps
      assert.deepEqual([wait.kind, answer.kind], ['wait', 'model'])
      assert.ok(wait.finished_at <= answer.started_at, 'the wait ended before the answer began')
      assert.equal(model.requests.length, 1)
    })

    test('without on_budget it fails', async () => {
      const { agent } = await agentWithout()
      const receipt = await becomes(agent, await begin(agent, 'fail'), 'failed')
      assert.equal(receipt.error.code, 'budget_exceeded')
    })

    test('it continues when the budget is deleted', async () => {
      const { agent, id } = await agentWithout()
      const request_id = await begin(agent)
      await becomes(agent, request_id, 'waiting')
      assert.equal((await service.call('DELETE', `/v1/budgets/${id}`)).status, 200)
      await becomes(agent, request_id, 'completed')
    })

    test('a change that makes no room lets it wait on', async () => {
      const { agent, id } = await agentWithout()
      const request_id = await begin(agent)
      await becomes(agent, request_id, 'waiting')
      await service.call('PATCH', `/v1/budgets/${id}`, { body: { name: 'renamed' } })
      await until('the run to have looked', async () => (await receiptOf(agent, request_id)).attempts.length === 2)
      const { steps } = await becomes(agent, request_id, 'waiting')
      assert.match(steps.at(-1).reason, /^The budget "renamed" doesn't have enough left/)
      await raise(id, { runs: 2 })
      await becomes(agent, request_id, 'completed')
    })

    test('a run that looks for room many times keeps one step for the wait, and asks memory once', async () => {
      const { agent, id } = await agentWithout()
      const context = { user_id: 'ada' }
      await writeMemory(service, agent, [{ content: 'The sea is dear to Ada', context }])
      const { request_id } = (await invoke(agent, { on_budget: 'wait', context })).body.data
      const shown = (receipt: Receipt) => receipt.steps.map(({ kind, reason }) => reason ?? kind)
      const first = await becomes(agent, request_id, 'waiting')
      for (const attempt of [2, 3, 4]) {
        await service.call('PATCH', `/v1/budgets/${id}`, { body: { name: `tight ${attempt}` } })
        await until('the run to have looked', async () => {
          const { attempts, status } = await receiptOf(agent, request_id)
          return attempts.length === attempt && status === 'waiting'
        })
      }
      const waiting = await receiptOf(agent, request_id)
      assert.deepEqual(shown(waiting), ['recall', REFUSED.replace('tight', 'tight 4')])
      assert.equal(waiting.steps[1].started_at, first.steps[1].started_at)
      await writeMemory(service, agent, [{ content: 'The sea is rough', context }])
      await raise(id, { runs: 2 })
      const receipt = await becomes(agent, request_id, 'completed')
      assert.deepEqual(shown(receipt), [...shown(waiting), 'model'])
      const prompt = JSON.stringify(model.requests[0])
      assert.deepEqual([prompt.includes('The sea is dear to Ada'), prompt.includes('The sea is rough')], [true, false])
      const { body: logs } = await service.call('GET', `/v1/agents/${agent}/logs?request_id=${request_id}&level=warn`)
      assert.equal(logs.pagination.total, 1, JSON.stringify(logs.data))
    })

    test('it continues when the period ends', async () => {
      // At the start of an hour, so that it does not end before the run waits.
      service.advance(HOUR_MS - (service.now() % HOUR_MS))
      const { agent, resets_at } = await agentWithout('hour')
      const request_id = await begin(agent)
      const { steps } = await becomes(agent, request_id, 'waiting')
      assert.equal(steps[0].finished_at, resets_at)
      service.advance(HOUR_MS)
      await becomes(agent, request_id, 'completed')
    })

    test('partway through a run: it continues after its stored steps, and no tool is called twice', async () => {
      const input_schema = { type: 'object', properties: {} }
      const agent = await newAgent(service, {
        model: MODEL,
        tools: [{ type: 'http', name: 'look', url: tool.url, input_schema }],
        limits: { max_output_tokens: 100 },
      })
      // The first call fits and uses nearly all of it.
      const { id } = await budget(agent, { tokens: 2_000 })
      const usage = { prompt_tokens: 1_890, completion_tokens: 10 }
      model.reply(
        { text: ['Let me look.'], calls: [{ name: 'look', arguments: {} }], usage },
        { text: ['It is calm.'] },
      )
      const request_id = await begin(agent)
      const waiting = await becomes(agent, request_id, 'waiting')
      assert.deepEqual(
        waiting.steps.map(({ kind }: { kind: string }) => kind),
        ['model', 'tool', 'wait'],
      )
      assert.match(
        waiting.steps[2].reason,
        /^The budget "tight" doesn't have enough left: 1900 tokens of 2000 tokens used, and/,
      )
      await raise(id, { tokens: 10_000 })
      const receipt = await becomes(agent, request_id, 'completed')
      assert.equal(receipt.response, 'Let me look.\n\nIt is calm.')
      assert.deepEqual([toolCalls, model.requests.length], [1, 2])
    })

    test('waits for the amounts that a call in progress has reserved', async () => {
      const agent = await newAgent(service, { model: MODEL, limits: { max_output_tokens: 100 } })
      await budget(agent, { tokens: 500 })
      const answered = Promise.withResolvers<void>()
      model.holdNext(answered.promise)
      model.reply({ text: ['First.'], usage: { prompt_tokens: 10, completion_tokens: 1 } })
      const seen = model.nextRequest()
      const first = invoke(agent, { message: 'x'.repeat(200) }, {})
      await seen
      const request_id = await begin(agent)
      await becomes(agent, request_id, 'running')
      // It is held for longer than a call waits in memory.
      await until('the run to wait', async () => {
        service.advance(31_000)
        return (await receiptOf(agent, request_id)).status === 'waiting'
      })
      answered.resolve()
      assert.equal((await first).status, 200)
      await becomes(agent, request_id, 'completed')
    })

    test('a call that needs more than the whole budget fails immediately, because waiting would not help', async () => {
      const agent = await newAgent(service, { model: MODEL })
      await budget(agent, { tokens: 1_000 }, 'day')
      const { error } = await becomes(agent, await begin(agent), 'failed')
      assert.match(
        error.message,
        /and this call could need \d+ tokens, more than the whole budget\. .*limits\.max_output_tokens/,
      )
      assert.equal(error.retry_after, undefined)
    })

    test('it is cancelled as any run that waits', async () => {
      const { agent, id } = await agentWithout()
      const request_id = await begin(agent)
      await becomes(agent, request_id, 'waiting')
      const cancelled = await service.call('POST', `/v1/agents/${agent}/invocations/${request_id}/cancel`)
      assert.equal(cancelled.status, 200, cancelled.text)
      await raise(id, { runs: 5 })
      assert.equal((await receiptOf(agent, request_id)).status, 'cancelled')
      assert.equal(model.requests.length, 0)
    })

    test('400 when a client waits for the answer', async () => {
      const agent = await newAgent(service, { model: MODEL })
      for (const headers of [{}, { Accept: 'text/event-stream' }]) {
        const reply = await invoke(agent, { on_budget: 'wait' }, headers)
        assert.equal(reply.status, 400, reply.text)
        assert.deepEqual(fieldsOf(reply.body), ['on_budget'])
      }
    })

    test('a schedule says it for its runs', async () => {
      const { agent, id } = await agentWithout()
      const made = await service.call('POST', `/v1/agents/${agent}/schedules`, {
        body: { every: '1h', message: 'tick', on_budget: 'wait' },
      })
      assert.equal(made.body.data.on_budget, 'wait', made.text)
      const begun = await service.call('POST', `/v1/agents/${agent}/schedules/${made.body.data.id}/run`)
      const { request_id } = begun.body.data
      await becomes(agent, request_id, 'waiting')
      await raise(id, { runs: 2 })
      await becomes(agent, request_id, 'completed')
    })

    test('it continues when its agent moves to a project without that budget', async () => {
      await service.call('POST', '/v1/projects', { body: { name: 'shop' } })
      const agent = await newAgent(service, { model: MODEL })
      const body = { name: 'tight', per: 'ever', scope: { type: 'project' }, limit: { tokens: 5_000 } }
      const { id } = (await service.call('POST', '/v1/budgets', { body })).body.data
      model.reply({ text: ['Calm.'], usage: { prompt_tokens: 2_000, completion_tokens: 2_000 } })
      assert.equal((await invoke(agent, {}, {})).status, 200)
      const request_id = await begin(agent)
      await becomes(agent, request_id, 'waiting')
      const moved = await service.call('POST', `/v1/agents/${agent}/move`, { body: { project: 'shop' } })
      assert.equal(moved.status, 200, moved.text)
      const shop = inProject(service, 'shop')
      await until('the run to complete', async () => {
        const { body: receipt } = await shop.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
        return receipt.data.status === 'completed'
      })
      await service.call('DELETE', `/v1/budgets/${id}`)
    })

    betweenNodes(engine)('a budget that is raised on one node wakes runs on all', async () => {
      const { agent, id } = await agentWithout()
      const request_id = await begin(agent)
      await becomes(agent, request_id, 'waiting')
      const other = await service.beside()
      await raise(id, { runs: 2 }, other)
      await becomes(agent, request_id, 'completed')
      assert.equal(model.requests.length, 1)
      await other.stop()
    })
  })
}
