import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onOneEngine } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const VERSION = { 'A2A-Version': '1.0' }
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'

// The format of replies, which does not depend on the database.
onOneEngine('A2A replies conform to the protocol', (service) => {
  const rpc = async (method: string, params: object) => {
    const body = { jsonrpc: '2.0', id: 7, method, params }
    const reply = await service().call('POST', '/v1/agents/pilot/a2a', { headers: VERSION, body })
    return { ...reply, error: reply.body?.error }
  }
  const said = (more: object = {}) => ({
    message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'ahoy' }], ...more },
  })
  before(() => createAgent(service(), 'pilot', { model: 'builtin/echo' }))

  for (const [method, params] of [
    ['GetTask', { id: 'req_none' }],
    ['CancelTask', { id: 'req_none' }],
    ['SubscribeToTask', { id: 'req_none' }],
    ['SendMessage', said({ taskId: 'req_none' })],
    ['SendStreamingMessage', said({ taskId: 'req_none' })],
    ['ListTaskPushNotificationConfigs', { taskId: 'req_none' }],
    ['GetTaskPushNotificationConfig', { taskId: 'req_none', id: 'none' }],
    ['DeleteTaskPushNotificationConfig', { taskId: 'req_none', id: 'none' }],
    ['CreateTaskPushNotificationConfig', { taskId: 'req_none', url: 'https://example.com/told' }],
  ] as const) {
    test(`${method} of an unknown task is -32001, with the protocol's reason and domain`, async () => {
      const { status, error, headers } = await rpc(method, params)
      assert.deepEqual([status, error?.code], [200, -32_001])
      assert.deepEqual(error.data, [
        {
          '@type': ERROR_INFO,
          reason: 'TASK_NOT_FOUND',
          domain: 'a2a-protocol.org',
          metadata: { code: 'not_found', status: '404', request_id: headers.get('x-request-id') },
        },
      ])
    })
  }

  test('an error that the protocol does not define has our reason and domain', async () => {
    const { error, headers } = await rpc('SendMessage', said({ parts: [{ text: '' }] }))
    const { details, ...rest } = error.data[0].metadata
    assert.deepEqual([error.code, error.data[0].reason, error.data[0].domain], [-32_602, 'INVALID_REQUEST', 'moorage'])
    assert.deepEqual(rest, { code: 'invalid_request', status: '400', request_id: headers.get('x-request-id') })
    assert.match(details, /"field":"message"/)
    const nobody = await service().call('POST', '/v1/agents/nobody/a2a', { headers: VERSION, body: {} })
    assert.deepEqual(
      [nobody.status, nobody.body.error.code, nobody.body.error.data[0].domain],
      [404, -32_000, 'moorage'],
    )
  })

  test('CONTENT_TYPE_NOT_SUPPORTED for a data part, and for a body that is not declared as JSON', async () => {
    const raw = await rpc('SendMessage', said({ parts: [{ data: { tick: 1 }, mediaType: 'application/json' }] }))
    assert.deepEqual([raw.error.code, raw.error.data[0].reason], [-32_005, 'CONTENT_TYPE_NOT_SUPPORTED'])
    const headers = { ...VERSION, 'Content-Type': 'text/plain' }
    const { status, body } = await service().call('POST', '/v1/agents/pilot/a2a', { headers, body: '{}' })
    assert.deepEqual([status, body.error.code], [415, -32_005])
    assert.deepEqual(
      [body.error.data[0].reason, body.error.data[0].domain],
      ['CONTENT_TYPE_NOT_SUPPORTED', 'a2a-protocol.org'],
    )
  })

  test('every status has a timestamp', async () => {
    const { body: sent } = await rpc('SendMessage', said())
    assert.match(sent.result.task.status.timestamp, TIME)
    const { body: read } = await rpc('GetTask', { id: sent.result.task.id })
    assert.match(read.result.status.timestamp, TIME)
    const { body: begun } = await rpc('SendMessage', { ...said(), configuration: { returnImmediately: true } })
    assert.match(begun.result.task.status.timestamp, TIME)
    const { text } = await rpc('SendStreamingMessage', said())
    const events = text.matchAll(/^data: (.+)$/gm).map(([, event]) => JSON.parse(event ?? '').result)
    const statuses = [...events].flatMap(({ task, statusUpdate }) => (task ?? statusUpdate ?? {}).status ?? [])
    assert.equal(statuses.length, 2, text)
    for (const { timestamp } of statuses) assert.match(timestamp, TIME)
  })

  for (const path of ['/v1/agents/pilot/a2a', '/v1/mcp', '/v1/agents/pilot/mcp']) {
    test(`broken JSON is -32700 on ${path}, and a body that is not a request is -32600`, async () => {
      const headers = { ...VERSION, Accept: 'application/json, text/event-stream' }
      for (const body of ['{"jsonrpc": "2.0", "id": 1, ', 'ahoy', '"\xff']) {
        const reply = await service().call('POST', path, { headers, body })
        assert.deepEqual([reply.status, reply.body.error.code, reply.body.id], [400, -32_700, null], reply.text)
      }
      for (const body of ['[]', '5', `${'['.repeat(40)}${']'.repeat(40)}`]) {
        const reply = await service().call('POST', path, { headers, body })
        assert.deepEqual([reply.status, reply.body.error.code], [400, -32_600], reply.text)
      }
    })
  }

  test('a public card can be cached for a while, and is sent again only after a change', async () => {
    await createAgent(service(), 'beacon', { description: 'Shines', security: { publicCard: true } })
    const path = '/v1/agents/beacon/.well-known/agent-card.json'
    const ask = (headers = {}, key: string | null = null) => service().call('GET', path, { key, headers })
    const card = await ask()
    const tag = card.headers.get('etag') ?? ''
    assert.match(tag, /^"[0-9a-f]{64}"$/)
    assert.equal(card.headers.get('cache-control'), 'public, max-age=60')
    const { headers } = await ask({}, service().admin)
    assert.deepEqual([headers.get('etag'), headers.get('cache-control')], [tag, 'private, max-age=60'])
    // What is kept for one client must not be shown to one to whom the address means another agent.
    for (const { headers: kept } of [card, await ask({ 'If-None-Match': tag })]) {
      assert.equal(kept.get('vary'), 'Authorization, Cookie, Moorage-Project, Origin')
    }
    assert.equal((await ask({ Cookie: 'a=b' })).headers.get('cache-control'), 'private, max-age=60')
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const kept = await ask({ 'If-None-Match': known })
      assert.deepEqual([kept.status, kept.text, kept.headers.get('etag')], [304, '', tag], known)
    }
    await service().call('PATCH', '/v1/agents/beacon', { body: { description: 'Shines at night' } })
    const changed = await ask({ 'If-None-Match': tag })
    assert.deepEqual([changed.status, changed.body.description], [200, 'Shines at night'])
    const own = await service().call('GET', '/v1/agents/pilot/.well-known/agent-card.json')
    assert.deepEqual([own.headers.get('cache-control'), own.headers.get('etag')], ['no-store', null])
  })
})
