import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { onBothEngines } from './support/service.ts'

onBothEngines('agents', (service) => {
  describe('POST /v1/agents', () => {
    test('201 with every field and where to find it', async () => {
      const { status, headers, body } = await service().call('POST', '/v1/agents', { body: { name: 'first' } })
      assert.equal(status, 201)
      const { id, created_at, updated_at, ...rest } = body.data
      assert.match(id, /^agt_[0-9A-Z]{26}$/)
      assert.equal(headers.get('location'), `/v1/agents/${id}`)
      assert.equal(created_at, updated_at)
      assert.deepEqual(rest, {
        name: 'first',
        status: 'running',
        description: null,
        model: 'builtin/echo',
        temperature: null,
        instructions: null,
        tools: [],
        script: null,
        memory: { remember: true, history: 20, recall: 5 },
        limits: { timeout_ms: null, max_steps: 8, max_output_tokens: null, max_concurrency: null },
        metadata: {},
        security: null,
        auth: null,
      })
    })

    test('409 for a name that is taken', async () => {
      await service().call('POST', '/v1/agents', { body: { name: 'twice' } })
      const { status, body } = await service().call('POST', '/v1/agents', { body: { name: 'twice' } })
      assert.equal(status, 409)
      assert.equal(body.error.code, 'conflict')
    })
  })
})
