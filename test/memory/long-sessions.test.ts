import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ModelServer } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

for (const engine of ANY_ENGINE) {
  describe(`a session that becomes too long for its model, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
    })
    after(() => stop())

    test('continues: every message is answered, and the log says what the model did not get', async () => {
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
      assert.match(message, /^The prompt would be too long\. Left out: \d+ older turns, \d+ memories$/)
      assert.ok(metadata.turns > 0)
    })
  })
}
