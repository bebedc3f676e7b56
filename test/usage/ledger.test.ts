import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { storeOf } from '../support/inside.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const MODEL = 'local/test-model'

for (const engine of STORY_ENGINES) {
  describe(`the ledger on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
    })
    after(() => stop())
    beforeEach(() => model.reset())

    const invoke = async (agent: string, context = {}, headers = {}) => {
      const body = { message: 'How is the sea?', context }
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body, headers })
      const request_id: string = reply.body.request_id ?? reply.body.data.request_id
      return { reply, request_id }
    }
    const receiptOf = async (agent: string, request_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data
    const linesOf = (agent: string) =>
      storeOf(service).selectFrom('ledger').selectAll().where('agent_id', '=', agent).orderBy('id').execute()
    const sumsOf = (agent: string) =>
      storeOf(service).selectFrom('usage_sums').selectAll().where('agent_id', '=', agent).orderBy('hours').execute()
    const spent = (lines: Awaited<ReturnType<typeof linesOf>>) =>
      lines.map(({ status, step, attempt, input_tokens, output_tokens }) => ({
        status,
        step,
        attempt,
        input_tokens,
        output_tokens,
      }))

    test('has a line for each call, with everything known about its caller, and sums by hour and day', async () => {
      const agent = await newAgent(service, { model: MODEL })
      model.reply({ text: ['Calm.'], usage: { prompt_tokens: 11, completion_tokens: 4 } })
      const { request_id } = await invoke(agent, { user_id: 'ada' })
      const [line, ...more] = await linesOf(agent)
      assert.deepEqual(more, [])
      assert.ok(line)
      const { id, agent_seq, key_id, created_at, ...rest } = line
      assert.match(id, /^led_/)
      assert.match(key_id ?? '', /^key_/)
      assert.ok(Number(agent_seq) > 0 && created_at > 0)
      const known = {
        project_id: 'prj_default',
        agent_id: agent,
        version: null,
        environment: 'production',
        door: 'api',
      }
      const used = {
        input_tokens: 11,
        cached_tokens: 0,
        cache_write_tokens: 0,
        output_tokens: 4,
        reasoning_tokens: 0,
        cost_nano: null,
      }
      assert.deepEqual(rest, {
        ...known,
        request_id,
        step: 0,
        attempt: 1,
        purpose: 'run',
        person_id: null,
        user_id: 'ada',
        model: MODEL,
        status: 'completed',
        ...used,
        price: null,
        charges: null,
        owner: null,
        lease_until: null,
      })
      const start = Math.floor(created_at / 3_600_000)
      const summed = { key_id, person_id: '', model: MODEL, purpose: 'run' }
      const sums = { calls: 1, ...used, cost_nano: 0, unpriced: 1, lost: 0 }
      assert.deepEqual(await sumsOf(agent), [{ ...known, version: '', hours: 0, start, ...summed, ...sums }])
    })

    test('has a line for each try, including failed ones', async () => {
      const agent = await newAgent(service, { model: [MODEL, 'builtin/echo'] })
      model.reply({ status: 500 }, { text: ['Rough.'], usage: { prompt_tokens: 7, completion_tokens: 2 } })
      const { request_id } = await invoke(agent)
      assert.deepEqual(spent(await linesOf(agent)), [
        { status: 'failed', step: 0, attempt: 1, input_tokens: 0, output_tokens: 0 },
        { status: 'completed', step: 0, attempt: 1, input_tokens: 7, output_tokens: 2 },
      ])
      assert.equal((await receiptOf(agent, request_id)).tokens_used, 9)
      const [hour] = await sumsOf(agent)
      assert.equal(hour?.calls, 2)
      assert.equal(hour?.input_tokens, 7)
    })

    test('has the call of a run that was cancelled', async () => {
      const agent = await newAgent(service, { model: MODEL })
      model.reply({ text: ['Wait'], usage: { prompt_tokens: 7, completion_tokens: 2 }, breaks: 'silence' })
      const asked = model.nextRequest()
      const invoked = invoke(agent, {}, { Prefer: 'respond-async' })
      await asked
      const { request_id } = await invoked
      const path = `/v1/agents/${agent}/invocations/${request_id}`
      await until('it runs', async () => (await receiptOf(agent, request_id)).status === 'running')
      await service.call('POST', `${path}/cancel`)
      await until('it has ended', async () => (await receiptOf(agent, request_id)).status === 'cancelled')
      assert.deepEqual(spent(await linesOf(agent)), [
        { status: 'cancelled', step: 0, attempt: 1, input_tokens: 7, output_tokens: 2 },
      ])
      assert.equal((await receiptOf(agent, request_id)).tokens_used, 9)
    })

    test('includes what a run spent before it waited, and so does the receipt', async () => {
      const agent = await newAgent(service, { model: MODEL })
      const busy = { status: 429, headers: { 'retry-after': '1' } }
      model.reply({ status: 500 }, busy, busy, busy, busy, { usage: { prompt_tokens: 7, completion_tokens: 2 } })
      const { request_id } = await invoke(agent, {}, { Prefer: 'respond-async' })
      await until('it has ended', async () => (await receiptOf(agent, request_id)).status === 'completed')
      const lines = await linesOf(agent)
      assert.equal(lines.length, model.requests.length)
      assert.deepEqual(spent(lines).at(-1)?.input_tokens, 7)
      assert.equal((await receiptOf(agent, request_id)).tokens_used, 9)
    })
  })
}
