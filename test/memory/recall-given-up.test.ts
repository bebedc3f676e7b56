import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type EmbeddingServer, startEmbeddingServer } from '../support/outside/embedding-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { writeMemory } from '../support/slices/memory.ts'

for (const engine of ANY_ENGINE) {
  describe(`memory searches that are cancelled or have no budget, on ${engine}`, () => {
    let endpoint: EmbeddingServer
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      endpoint = await startEmbeddingServer()
      ;({ service, model, stop } = await startWithModel(engine, {
        MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible',
        MOORAGE_MEMORY__EMBEDDER__BASE_URL: endpoint.url,
        MOORAGE_MEMORY__EMBEDDER__MODEL: 'concepts-1',
      }))
      // Nothing may be embedded in the background while a test counts the requests to the embedder.
      service.holdClock()
    })
    after(async () => {
      await stop()
      await endpoint.close()
    })

    const asked = (text: string) => endpoint.requests.filter(({ body }) => body.input.includes(text)).length
    const context = { user_id: 'ada' }
    const begin = async (agent: string, message: string) => {
      const options = { body: { message, context }, headers: { Prefer: 'respond-async' } }
      const { body, text } = await service.call('POST', `/v1/agents/${agent}/invoke`, options)
      assert.ok(body.data, text)
      return `/v1/agents/${agent}/invocations/${body.data.request_id}`
    }

    test('cancelling a run during its memory search ends it, and does not count as a failure of the embedder', async () => {
      const agent = await newAgent(service)
      await writeMemory(service, agent, [{ content: 'a dog', context }])
      endpoint.instead(() => {})
      const path = await begin(agent, 'a puppy')
      await until('the embedder is asked', () => asked('a puppy') === 1)
      assert.equal((await service.call('POST', `${path}/cancel`)).status, 200)
      await until('it has ended', async () => (await service.call('GET', path)).body.data.status === 'cancelled')
      endpoint.instead(undefined)
      const { status } = await service.call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: 'a hound', context },
      })
      assert.deepEqual([status, asked('a hound')], [200, 1], 'after a failure it would not be asked for a while')
    })

    test('a search does not wait for a budget that another call has reserved, and uses keywords', async () => {
      const agent = await newAgent(service, { model: 'local/test-model', limits: { max_output_tokens: 9_000 } })
      await writeMemory(service, agent, [{ content: 'a rainy harbour', context }])
      const budget = { name: 'held', scope: { type: 'agent', id: agent }, limit: { tokens: 9_400 }, per: 'ever' }
      assert.equal((await service.call('POST', '/v1/budgets', { body: budget })).status, 201)
      const released = Promise.withResolvers<void>()
      model.holdNext(released.promise)
      const path = await begin(agent, 'Hold it')
      await until('the model is asked', () => model.requests.length === 1)

      // The clock is held, so a call that waits for the budget would wait forever.
      const query = `harbour ${'x'.repeat(400)}`
      const { status, body } = await service.call('POST', `/v1/agents/${agent}/memory/search`, {
        body: { query, context },
      })
      assert.equal(status, 200)
      assert.deepEqual(
        body.data.map(({ content }: { content: string }) => content),
        ['a rainy harbour'],
      )
      assert.equal(asked(query), 0)
      released.resolve()
      await until('the run has ended', async () => (await service.call('GET', path)).body.data.status === 'completed')
    })
  })
}
