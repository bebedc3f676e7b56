import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'

for (const engine of ANY_ENGINE) {
  describe(`an agent with several models, on ${engine}`, () => {
    let first: ModelServer
    let second: ModelServer
    let service: Service
    let agent: string
    before(async () => {
      first = await startModelServer()
      second = await startModelServer()
      service = await startService(engine, {
        MOORAGE_PROVIDERS: JSON.stringify([
          { name: 'first', baseUrl: first.url },
          { name: 'second', baseUrl: second.url },
        ]),
      })
      agent = await newAgent(service, { model: ['first/large', 'second/small'] })
    })
    after(async () => {
      await service.stop()
      await Promise.all([first.close(), second.close()])
    })
    beforeEach(() => {
      first.reset()
      second.reset()
    })

    const invoke = async () => {
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?' } })
      const request_id = reply.body.request_id ?? reply.body.data.request_id
      const receipt = await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
      return { ...reply, receipt: receipt.body.data }
    }
    const unavailable = Array.from({ length: 4 }, () => ({ status: 503 }))
    const steps = ({ steps: all }: { steps: { kind: string; model?: string; passed_over?: unknown }[] }) =>
      all.filter(({ kind }) => kind === 'model').map(({ model, passed_over }) => ({ model, passed_over }))

    test('returns its list of models, and calls the first one', async () => {
      first.reply({ text: ['Calm.'] })
      const { body, receipt } = await invoke()
      assert.equal(body.data.response, 'Calm.')
      assert.equal(receipt.model, 'first/large')
      assert.equal(second.requests.length, 0)
      const { body: shown } = await service.call('GET', `/v1/agents/${agent}`)
      assert.deepEqual(shown.data.model, ['first/large', 'second/small'])
    })

    test('calls the next model if the first is unavailable, and the receipt says why', async () => {
      first.reply(...unavailable)
      second.reply({ text: ['Rough.'] })
      const { body, receipt } = await invoke()
      assert.equal(body.data.response, 'Rough.')
      assert.equal(second.requests[0]?.body.model, 'small')
      assert.equal(receipt.model, 'second/small')
      const error = 'Model provider first answered 503: an error at the provider.'
      assert.deepEqual(steps(receipt), [{ model: 'second/small', passed_over: [{ model: 'first/large', error }] }])
    })

    test("calls the next model even after a tool call, and keeps the first one's text", async () => {
      first.reply({ text: ['Let me look.'], calls: [{ name: 'nothing', arguments: {} }] }, ...unavailable)
      second.reply({ text: ['Rough.'] })
      const { body, receipt } = await invoke()
      assert.equal(body.data?.response, 'Let me look.\n\nRough.', JSON.stringify(body))
      assert.deepEqual(
        steps(receipt).map(({ model }) => model),
        ['first/large', 'second/small'],
      )
    })

    for (const [what, reply] of [
      ['a request that it refuses', { status: 400 }],
      ['a key that it refuses', { status: 401 }],
      ['an answer that it filters', { text: [], finish_reason: 'content_filter' }],
      ['an answer that breaks off after the first word', { text: ['Cal'], breaks: 'early end' as const }],
    ] as const) {
      test(`does not call the next model after ${what}`, async () => {
        first.reply(reply)
        const { status } = await invoke()
        assert.equal(status, 500)
        assert.equal(second.requests.length, 0)
      })
    }

    test("fails with the last model's error if none is available", async () => {
      // A provider that names a time beyond the deadline is not asked again.
      const later = { status: 503, headers: { 'retry-after': '3600' } }
      first.reply(later)
      second.reply(later)
      const { status, body, receipt } = await invoke()
      assert.equal(status, 500)
      assert.match(body.error.message, /\bsecond\b.*\b503\b/)
      assert.equal(receipt.model, null)
    })

    test('400 for an unknown or repeated model in the list, and for zero or six models', async () => {
      for (const [model, field] of [
        [['first/large', 'nowhere/x'], 'model.1'],
        [['first/large', 'first/large'], 'model.1'],
        [[], 'model'],
        [Array.from({ length: 6 }, (_, i) => `first/${i}`), 'model'],
        [7, 'model'],
      ] as const) {
        const { status, body } = await service.call('PATCH', `/v1/agents/${agent}`, { body: { model } })
        assert.equal(status, 400, JSON.stringify(model))
        assert.equal(body.error.details[0].field, field, JSON.stringify(body))
      }
    })

    test('gets its old list back after a rollback', async () => {
      const deploy = (version: string) =>
        service.call('POST', `/v1/agents/${agent}/deployments`, { body: { environment: 'production', version } })
      await deploy('v1')
      await service.call('PATCH', `/v1/agents/${agent}`, { body: { model: 'second/small' } })
      await deploy('v2')
      assert.equal((await invoke()).receipt.model, 'second/small')
      const { body } = await service.call('GET', `/v1/agents/${agent}/deployments?status=active`)
      await service.call('POST', `/v1/agents/${agent}/deployments/${body.data[0].id}/rollback`)
      assert.equal((await invoke()).receipt.model, 'first/large')
    })
  })
}
