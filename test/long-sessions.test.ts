import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newAgent } from './support/agents.ts'
import { type ModelServer, startModelServer } from './support/model-server.ts'
import { ENGINES, type Service, startService } from './support/service.ts'

for (const engine of ENGINES) {
  describe(`a session that outgrows its model, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    before(async () => {
      model = await startModelServer()
      service = await startService(engine, {
        MOORAGE_PROVIDERS: JSON.stringify([{ name: 'local', baseUrl: model.url }]),
      })
    })
    after(async () => {
      await service.stop()
      await model.close()
    })

    test('goes on: every message is answered, and the log says what the model was not shown', async () => {
      const agent = await newAgent(service, { model: 'local/tiny' })
      model.takeAtMost(9000)
      const context = { user_id: 'ada', session_id: 'long' }
      for (let i = 1; i <= 8; i += 1) {
        const message = `Message ${i} about the harbour. `.padEnd(2000, `${i} `)
        const { status, body } = await service.call('POST', `/v1/agents/${agent}/invoke`, {
          body: { message, context },
        })
        assert.equal(status, 200, `message ${i}: ${JSON.stringify(body)}`)
      }
      const shown = JSON.stringify(model.requests.at(-1)?.body.messages)
      assert.match(shown, /Message 7/)
      assert.doesNotMatch(shown, /Message 1/)
      const { body } = await service.call('GET', `/v1/agents/${agent}/logs?search=left out`)
      const { message, metadata } = body.data[0]
      assert.match(message, /^The prompt would be too long; left out: older turns \d+, memories \d+$/)
      assert.ok(metadata.turns > 0)
    })
  })
}
