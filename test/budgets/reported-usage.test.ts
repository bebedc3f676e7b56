import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { listUntold } from '../../src/budgets/desk/counter-store.ts'
import { storageOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { inProject, type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { newRemoteAgent, type RemoteServer, setRemoteSecret, startRemote } from '../support/slices/remote-agents.ts'

for (const engine of STORY_ENGINES) {
  for (const countReported of [false, true]) {
    describe(`usage that remote agents report on ${engine}, budgets.countReportedUsage: ${countReported}`, () => {
      let service: Service
      let model: ModelServer
      let remote: RemoteServer
      let stop: () => Promise<void>
      before(async () => {
        const settings = { ...LOCAL_TOOLS, MOORAGE_BUDGETS__COUNT_REPORTED_USAGE: String(countReported) }
        ;({ service, model, stop } = await startWithModel(engine, settings))
        remote = await startRemote(() => service.now())
        await setRemoteSecret(service)
      })
      after(async () => {
        await stop()
        await remote.close()
      })

      const budget = async (scope: object, limit: object) => {
        const body = { name: 'test', per: 'ever', scope, limit }
        const reply = await service.call('POST', '/v1/budgets', { body })
        assert.equal(reply.status, 201, reply.text)
        return reply.body.data.id as string
      }
      const spentOf = async (id: string) => {
        const { used, reserved } = (await service.call('GET', `/v1/budgets/${id}`)).body.data
        return { used, reserved }
      }
      const invoke = (agent: string, context = {}) =>
        service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?', context } })

      test('is recorded even when the budget is full, and the next model call is refused', async () => {
        const agent = await newRemoteAgent(service, remote.url, { model: 'local/test-model' })
        const id = await budget({ type: 'agent', id: agent }, { tokens: 100 })
        const runs = await budget({ type: 'agent', id: agent }, { runs: 1 })
        remote.answer(async (run) => {
          run.usage({ model: 'mine', input_tokens: 150, output_tokens: 0 })
          run.usage({ model: 'mine', input_tokens: 1000, output_tokens: 0 })
          return 'Calm.'
        })
        const { status, body } = await invoke(agent)
        assert.equal(status, 200, JSON.stringify(body))
        assert.equal(body.data.tokens_used, 1150)
        assert.deepEqual(await spentOf(id), { used: 1150, reserved: 0 })
        assert.deepEqual(await spentOf(runs), { used: 1, reserved: 0 })
        const usage = await service.call('GET', `/v1/usage?agent_id=${agent}`)
        assert.equal(usage.body.data.totals.input_tokens, 1150)
        remote.answer((run) => run.askModel('colour', { message: 'Which colour?' }))
        assert.equal((await invoke(agent)).status, 429)
        assert.equal(model.requests.length, 0)
      })

      test('counts as one run, even with several model calls at once', async () => {
        const agent = await newRemoteAgent(service, remote.url, { model: 'local/test-model' })
        const refusing = await budget({ type: 'agent', id: agent }, { runs: 5 })
        const body = { name: 'told', per: 'ever', scope: { type: 'agent', id: agent }, limit: { runs: 5 } }
        const told = await service.call('POST', '/v1/budgets', { body: { ...body, action: 'notify' } })
        remote.answer(async (run) => {
          const asked = ['red', 'green', 'blue'].map((name) => run.askModel(name, { message: 'Which colour?' }))
          await Promise.all(asked)
          run.usage({ model: 'mine', input_tokens: 1, output_tokens: 0 })
          return 'Calm.'
        })
        assert.equal((await invoke(agent)).status, 200)
        assert.deepEqual(await spentOf(refusing), { used: 1, reserved: 0 })
        assert.deepEqual(await spentOf(told.body.data.id), { used: 1, reserved: 0 })
      })

      test("is shown, and never prevents a budget's event, however large it is", async () => {
        const agent = await newRemoteAgent(service, remote.url)
        const path = '/v1/prices/dear/model'
        await service.call('PUT', path, { body: { input: 1_000_000, output: 0 } })
        const id = await budget({ type: 'agent', id: agent }, { cost_usd: 5 })
        remote.answer(async (run) => {
          for (let i = 0; i < 200; i++) run.usage({ model: 'dear/model', input_tokens: 1_000_000, output_tokens: 0 })
          return 'Calm.'
        })
        assert.equal((await invoke(agent)).status, 200)
        const most = Number.MAX_SAFE_INTEGER / 1e9
        assert.deepEqual(await spentOf(id), { used: most, reserved: 0 })
        const { body } = await service.call('GET', `/v1/agents/${agent}/invocations`)
        assert.equal(body.data[0].cost_usd, most)
        for (const by of ['model', 'user']) {
          const usage = await service.call('GET', `/v1/usage?scope=service&group_by=${by}`)
          assert.equal(usage.status, 200, usage.text)
          assert.ok(usage.body.data.totals.priced_cost_usd >= most)
        }
        const storage = storageOf(service)
        const { now } = service
        await listUntold(storage.db, now(), 1_000)
        for (const done of [`/v1/budgets/${id}`, path]) assert.equal((await service.call('DELETE', done)).status, 200)
      })

      test("does not wait for others' reservations", async () => {
        const agent = await newRemoteAgent(service, remote.url, { model: 'local/test-model' })
        const user_id = `ada-${agent}`
        const id = await budget({ type: 'user', id: user_id }, { tokens: 10_000 })
        const answered = Promise.withResolvers<void>()
        model.holdNext(answered.promise)
        const seen = model.nextRequest()
        remote.answer((run) => run.askModel('colour', { message: 'Which colour?', max_output_tokens: 9_000 }))
        const slow = invoke(agent, { user_id })
        await seen
        remote.answer(async (run) => {
          run.usage({ model: 'mine', input_tokens: 9_000, output_tokens: 0 })
          return 'Calm.'
        })
        assert.equal((await invoke(agent, { user_id })).status, 200)
        const { used, reserved } = await spentOf(id)
        assert.ok(used === 9_000 && reserved > 9_000, `${used} used, ${reserved} held`)
        answered.resolve()
        assert.equal((await slow).status, 200)
      })

      test(`${countReported ? 'counts' : 'does not count'} toward a service budget`, async () => {
        const tokens = await budget({ type: 'service' }, { tokens: 1_000_000 })
        const runs = await budget({ type: 'service' }, { runs: 100 })
        const project = await budget({ type: 'project' }, { tokens: 1_000_000_000_000 })
        const agent = await newRemoteAgent(service, remote.url)
        remote.answer(async (run) => {
          run.usage({ model: 'local/test-model', input_tokens: 900_000_000, output_tokens: 0 })
          return 'Calm.'
        })
        assert.equal((await invoke(agent)).status, 200)
        const reported = { used: 900_000_000, reserved: 0 }
        assert.deepEqual(await spentOf(project), reported)
        assert.deepEqual(await spentOf(tokens), countReported ? reported : { used: 0, reserved: 0 })
        assert.deepEqual(await spentOf(runs), { used: 1, reserved: 0 })
        await service.call('POST', '/v1/projects', { body: { name: 'beta' } })
        const beta = inProject(service, 'beta')
        const fields = { name: 'calm', model: 'local/test-model', instructions: null }
        assert.equal((await beta.call('POST', '/v1/agents', { body: fields })).status, 201)
        const reply = await beta.call('POST', '/v1/agents/calm/invoke', { body: { message: 'How is the sea?' } })
        assert.equal(reply.status, countReported ? 429 : 200, reply.text)
      })
    })
  }
}
