import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { onOneEngine } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

onOneEngine(
  'every path',
  (service) => {
    test('HEAD returns immediately where GET would follow a stream', async (t) => {
      const held = await holdRuns(t)
      await createAgent(service(), 'held', held.agent)
      const body = { message: 'ahoy' }
      const begun = await service().call('POST', '/v1/agents/held/invoke', {
        body,
        headers: { Prefer: 'respond-async' },
      })
      const stream = `/v1/agents/held/invocations/${begun.body.data.request_id}/stream`
      for (const [path, status] of [
        [stream, 200],
        [`${stream}x`, 404],
        ['/v1/mcp', 200],
      ] as const) {
        const reply = await service().call('HEAD', path, { headers: { Accept: 'text/event-stream' } })
        const type = status === 200 ? 'text/event-stream' : 'application/json'
        assert.deepEqual(
          [reply.status, reply.headers.get('content-type')?.split(';')[0], reply.text],
          [status, type, ''],
        )
      }
    })

    test('400 for an unknown field where no body is needed', async () => {
      const reply = await service().call('POST', '/v1/webhooks/wh_none/test', { body: { surprise: 1 } })
      assert.equal(reply.status, 400, reply.text)
      assert.equal(reply.body.error.code, 'invalid_request')
    })

    test('a DELETE or PATCH with an empty id is 400 and changes nothing', async () => {
      const memory = '/v1/agents/hello/memory'
      const written = await service().call('POST', memory, { body: { items: [{ content: 'the pier is closed' }] } })
      assert.equal(written.status, 201, written.text)
      const reply = await service().call('DELETE', `${memory}/`)
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'invalid_request'])
      assert.equal((await service().call('GET', memory)).body.pagination.total, 1)
      // `fetch` sends `/v1/agents/hello/` instead.
      const { body: before } = await service().call('GET', '/v1/agents/hello')
      for (const method of ['DELETE', 'PATCH']) {
        const above = await service().call(method, `${memory}/..`, { body: { description: 'lost' } })
        assert.deepEqual([above.status, above.body.error.code], [400, 'invalid_request'])
      }
      assert.deepEqual((await service().call('GET', '/v1/agents/hello')).body, before)
    })

    test('an Idempotency-Key covers the path with and without a trailing slash', async () => {
      const headers = { 'Idempotency-Key': 'slash' }
      const body = { message: 'ahoy' }
      const first = await service().call('POST', '/v1/agents/hello/invoke', { headers, body })
      const again = await service().call('POST', '/v1/agents/hello/invoke/', { headers, body })
      assert.deepEqual([again.status, again.body], [200, first.body])
    })

    test('a trailing slash is also ignored for OpenAI, MCP and A2A clients', async () => {
      await createAgent(service(), 'beacon', { security: { publicCard: true } })
      const chat = { model: 'hello', messages: [{ role: 'user', content: 'ahoy' }] }
      const rpc = { jsonrpc: '2.0', id: 1 }
      const said = { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'ahoy' }] } }
      const mcp = { Accept: 'application/json, text/event-stream' }
      const run = { threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'ahoy' }] }
      const requests: [string, string, { body?: object; headers?: Record<string, string>; key?: null }][] = [
        ['POST', '/v1/chat/completions', { body: chat }],
        ['POST', '/v1/responses', { body: { model: 'hello', input: 'ahoy' } }],
        ['GET', '/v1/models', {}],
        ['GET', '/v1/models/hello', {}],
        ['POST', '/v1/mcp', { body: { ...rpc, method: 'tools/list' }, headers: mcp }],
        ['POST', '/v1/agents/hello/mcp', { body: { ...rpc, method: 'tools/list' }, headers: mcp }],
        [
          'POST',
          '/v1/agents/hello/a2a',
          { body: { ...rpc, method: 'SendMessage', params: said }, headers: { 'A2A-Version': '1.0' } },
        ],
        ['POST', '/v1/agents/hello/ag-ui', { body: run }],
        ['GET', '/v1/agents/beacon/.well-known/agent-card.json', { key: null }],
        ['GET', '/metrics', {}],
        ['GET', '/healthz', { key: null }],
        ['GET', '/readyz', { key: null }],
        ['GET', '/docs', { key: null }],
        ['GET', '/v1/openapi.json', { key: null }],
      ]
      for (const [method, path, options] of requests) {
        const [plain, slash] = [
          await service().call(method, path, options),
          await service().call(method, `${path}/`, options),
        ]
        assert.deepEqual(
          [slash.status, slash.headers.get('content-type')],
          [200, plain.headers.get('content-type')],
          path,
        )
      }
      const page = await service().call('GET', '/agents/', { key: null, headers: { Accept: 'text/html' } })
      assert.notEqual(page.status, 404)
      const nothing = await service().call('POST', '/v1/agents/hello/a2a//', { body: {} })
      assert.equal(nothing.status, 404)
    })
  },
  LOCAL_TOOLS,
)
