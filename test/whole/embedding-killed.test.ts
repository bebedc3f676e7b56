import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startEmbeddingServer } from '../support/outside/embedding-server.ts'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'

describe('embedding that is cut short', () => {
  // On PostgreSQL, another node takes over the same way after the dead node's lease has expired.
  test('continues after kill -9 where it was, and asks for nothing twice', async (t) => {
    const endpoint = await startEmbeddingServer()
    t.after(() => endpoint.close())
    const service = await startChildService(t, 'sqlite', {
      MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible',
      MOORAGE_MEMORY__EMBEDDER__BASE_URL: endpoint.url,
      MOORAGE_MEMORY__EMBEDDER__MODEL: 'concepts-1',
    })
    const progress = async () => (await service.call('GET', '/v1/memory')).data.embedding
    await service.call('POST', '/v1/agents', { name: 'reader' })
    const texts = Array.from({ length: 40 }, (_, i) => `a car, number ${i}`)
    const standsStill = Promise.withResolvers<void>()
    let seen = 0
    endpoint.refuse(() => {
      seen += 1
      if (seen === 16) endpoint.instead(() => standsStill.resolve())
      return false
    })
    await service.call('POST', '/v1/agents/reader/memory', { items: texts.map((content) => ({ content })) })
    await standsStill.promise
    const { embedded: done } = await progress()
    assert.ok(done > 0 && done < texts.length, String(done))
    await service.kill()
    const asked = endpoint.requests.length
    endpoint.instead(undefined)
    await service.start()
    await until('all are embedded', async () => (await progress()).embedded === texts.length)
    const again = endpoint.requests.slice(asked).flatMap(({ body }) => body.input)
    assert.equal(again.length, texts.length - done)
    assert.deepEqual(await progress(), { model: 'concepts-1', embedded: texts.length, waiting: 0 })
  })
})
