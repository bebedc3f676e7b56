import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { enrol } from '../support/clients/mfa.ts'
import { betweenNodes, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

for (const engine of STORY_ENGINES) {
  describe(`a request that is sent again with its spent one-time code, on ${engine}`, () => {
    betweenNodes(engine)('waits for the first one while that runs on another node, and gets its answer', async (t) => {
      const { service, model, stop } = await startWithModel(engine)
      t.after(stop)
      const other = await service.beside()
      t.after(() => other.stop())
      other.advance(service.now() - other.now())
      const key = (await service.call('POST', '/v1/keys', { body: { name: 'test', role: 'admin' } })).body.data
      const app = await enrol(service, key.id)
      const security = { mfa: { enabled: true, requiredFor: ['invoke'] } }
      const made = await service.call('POST', '/v1/agents', {
        body: { name: 'guarded', model: 'local/test-model', security },
      })
      assert.equal(made.status, 201, made.text)
      for (const node of [service, other]) node.advance(600_000)

      const answered = Promise.withResolvers<void>()
      model.holdNext(answered.promise)
      const seen = model.nextRequest()
      const headers = { 'X-Service-OTP': app.code(), 'Idempotency-Key': 'once' }
      const send = (node: typeof service) =>
        node.call('POST', '/v1/agents/guarded/invoke', { key: key.secret, body: { message: 'Hello' }, headers })
      const first = send(service)
      await seen
      const again = send(other)
      // Either it returns immediately, or it waits until the model has answered.
      const early = await Promise.race([again, service.call('GET', '/v1/agents').then(() => undefined)])
      assert.equal(early?.text, undefined)
      answered.resolve()
      const replies = [await first, await again]
      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 200],
      )
      assert.deepEqual(replies[1]?.body.data, replies[0]?.body.data)
      assert.equal(model.requests.length, 1)
    })
  })
}
