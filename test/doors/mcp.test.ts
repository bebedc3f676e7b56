import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { connectMcp, REVISIONS } from '../support/clients/mcp-client.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const RULES = [
  { match: { equals: 'wait' }, reply: 'too late', delay_ms: 60_000 },
  { match: { equals: 'slowly' }, reply: 'one two three four', delay_ms: 50 },
  { match: { equals: 'fail' }, fail: 'The engine is cold' },
  { reply: 'aye' },
]

const textOf = (result: { content: unknown }) => (result.content as { text: string }[])[0]?.text

async function invocations(service: Service, agent: string) {
  const { body } = await service.call('GET', `/v1/agents/${agent}/invocations`)
  return body.data as { request_id: string; status: string; created_by: string }[]
}

onAnyEngine('MCP clients', (service) => {
  before(async () => {
    const script = { model: 'builtin/script', script: { rules: RULES } }
    await createAgent(service(), 'pilot', { ...script, description: 'Brings ships into the harbour' })
  })

  test('400 for a very long id or progress token, because each event would repeat it', async () => {
    const ask = (id: string, progressToken: string) =>
      service().call('POST', '/v1/mcp', {
        headers: { Accept: 'application/json, text/event-stream' },
        body: {
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'pilot', arguments: { message: 'ahoy' }, _meta: { progressToken } },
        },
      })
    assert.equal((await ask('x'.repeat(256), 'x'.repeat(256))).status, 200)
    assert.equal((await ask('x'.repeat(257), 'x')).status, 400)
    assert.equal((await ask('x', 'x'.repeat(257))).status, 400)
  })

  for (const revision of REVISIONS) {
    test(`${revision}: agents are tools, and a call starts an invocation`, async (t) => {
      const client = await connectMcp(t, service(), revision)
      const { tools } = await client.listTools()
      const pilot = tools.find(({ name }) => name === 'pilot')
      assert.equal(pilot?.description, 'Brings ships into the harbour')
      assert.deepEqual(pilot?.inputSchema.required, ['message'])
      assert.deepEqual(Object.keys(pilot?.inputSchema.properties ?? {}), ['message', 'session_id', 'attachments'])
      assert.ok(tools.some(({ name }) => name === 'hello'))

      const result = await client.callTool({ name: 'pilot', arguments: { message: 'ahoy' } })
      assert.equal(textOf(result), 'aye')
      const { request_id } = result.structuredContent as { request_id: string }
      const { body } = await service().call('GET', `/v1/agents/pilot/invocations/${request_id}`)
      assert.deepEqual([body.data.status, body.data.message, body.data.door], ['completed', 'ahoy', 'mcp'])
    })

    test(`${revision}: an agent's path offers only that agent, and memory search for keys that can read`, async (t) => {
      const path = '/v1/agents/pilot/mcp'
      const client = await connectMcp(t, service(), revision, { path })
      const names = async () => (await client.listTools()).tools.map(({ name }) => name)
      assert.deepEqual(await names(), ['pilot', 'search_memory'])
      const session_id = `session-${revision}`
      await client.callTool({ name: 'pilot', arguments: { message: 'the lighthouse is green', session_id } })
      const found = await client.callTool({ name: 'search_memory', arguments: { query: 'lighthouse', session_id } })
      assert.match(String(textOf(found)), /the lighthouse is green/)
      await assert.rejects(client.callTool({ name: 'hello', arguments: { message: 'hi' } }), { code: -32_602 })

      const { secret } = await createKey(service(), { role: 'caller' })
      const caller = await connectMcp(t, service(), revision, { path, key: secret })
      assert.deepEqual(
        (await caller.listTools()).tools.map(({ name }) => name),
        ['pilot'],
      )
      const search = caller.callTool({ name: 'search_memory', arguments: { query: 'lighthouse' } })
      await assert.rejects(search, { code: -32_000, message: /doesn't have the permission "read"/ })
    })

    test(`${revision}: progress is sent during the answer`, async (t) => {
      const client = await connectMcp(t, service(), revision)
      const heard: { progress: number; message?: string | undefined }[] = []
      const result = await client.callTool(
        { name: 'pilot', arguments: { message: 'slowly' } },
        { onprogress: (progress) => heard.push(progress) },
      )
      assert.equal(textOf(result), 'one two three four')
      assert.ok(heard.length > 0)
      assert.deepEqual(
        heard.map(({ progress }) => progress),
        heard.map((_, index) => index + 1),
      )
      assert.ok('one two three four'.startsWith(heard.map(({ message }) => message).join('')))
    })

    test(`${revision}: cancelling a call stops its run, and no other`, async (t) => {
      const { secret, id } = await createKey(service(), { role: 'developer' })
      const [client, other] = await Promise.all([1, 2].map(() => connectMcp(t, service(), revision, { key: secret })))
      assert.ok(client && other)
      const running = async () =>
        (await invocations(service(), 'pilot')).filter((run) => run.created_by === id && run.status === 'running')
      const stop = new AbortController()
      const stays = new AbortController()
      const wait = { name: 'pilot', arguments: { message: 'wait' } }
      const cancelled = assert.rejects(client.callTool(wait, { signal: stop.signal }))
      const kept = assert.rejects(other.callTool(wait, { signal: stays.signal }))
      await until('both run', async () => (await running()).length === 2)
      stop.abort()
      await cancelled
      await until('one is stopped', async () => (await running()).length === 1)
      stays.abort()
      await kept
      await until('the other is stopped', async () => (await running()).length === 0)
      const ended = (await invocations(service(), 'pilot')).filter((run) => run.created_by === id)
      assert.deepEqual(
        ended.map(({ status }) => status),
        ['cancelled', 'cancelled'],
      )
    })

    test(`${revision}: clients are notified when the list of agents changes`, async (t) => {
      let changes = 0
      const onChanged = () => {
        changes += 1
      }
      const listChanged = { tools: { onChanged, autoRefresh: false, debounceMs: 0 } }
      await connectMcp(t, service(), revision, { options: { listChanged } })
      await until('the change is heard', async () => {
        if (changes > 0) return true
        await service().call('PATCH', '/v1/agents/pilot', { body: { metadata: { changes: Math.random() } } })
        return false
      })
    })

    test(`${revision}: calls with the same Idempotency-Key run once`, async (t) => {
      const headers = { 'Idempotency-Key': `once-${revision}` }
      const client = await connectMcp(t, service(), revision)
      const call = () => client.callTool({ name: 'pilot', arguments: { message: 'once' } }, { headers })
      const [first, again] = [await call(), await call()]
      assert.deepEqual(again.structuredContent, first.structuredContent)
      const other = client.callTool({ name: 'pilot', arguments: { message: 'twice' } }, { headers })
      assert.match(String(textOf(await other)), /already used with a different request/)
    })
  }

  test('2025-11-25: only the key that made a call can cancel it, even if another key knows its session', async () => {
    const [mine, other] = await Promise.all([1, 2].map(() => createKey(service(), { role: 'developer' })))
    assert.ok(mine && other)
    const send = (key: string, message: object, session?: string) =>
      fetch(`${service().url}/v1/mcp`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          'MCP-Protocol-Version': '2025-11-25',
          ...(session && { 'Mcp-Session-Id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      })
    const clientInfo = { name: 'test', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const begun = await send(mine.secret, { id: 1, method: 'initialize', params })
    await begun.text()
    const session = begun.headers.get('mcp-session-id') ?? ''
    assert.match(session, /^req_/)

    const call = { id: 2, method: 'tools/call', params: { name: 'pilot', arguments: { message: 'wait' } } }
    const called = send(mine.secret, call, session).then((response) => response.text())
    const status = async () =>
      (await invocations(service(), 'pilot')).find(({ created_by }) => created_by === mine.id)?.status
    await until('it runs', async () => (await status()) === 'running')
    const cancel = { method: 'notifications/cancelled', params: { requestId: 2 } }
    assert.equal((await send(other.secret, cancel, session)).status, 202)
    assert.equal((await send(mine.secret, cancel, 'another session')).status, 202)
    // A run that ends after these requests is stored after their effects.
    await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'ahoy' } })
    assert.equal(await status(), 'running')
    assert.equal((await send(mine.secret, cancel, session)).status, 202)
    await called
    await until('it is cancelled', async () => (await status()) === 'cancelled')
  })

  test('the model gets an error that says what was wrong with its call, or why the agent failed', async (t) => {
    const client = await connectMcp(t, service(), '2026-07-28')
    const wrong = await client.callTool({ name: 'pilot', arguments: { massage: 'hi' } })
    assert.equal(wrong.isError, true)
    assert.match(String(textOf(wrong)), /message: is required\nmassage: unknown field/)
    const long = await client.callTool({ name: 'pilot', arguments: { message: 'x'.repeat(100_001) } })
    assert.equal(long.isError, true)
    assert.match(String(textOf(long)), /message: /)
    const failed = await client.callTool({ name: 'pilot', arguments: { message: 'fail' } })
    assert.deepEqual([failed.isError, textOf(failed)], [true, 'The engine is cold'])
  })

  test('the model gets a result that says a person must decide first', async (t) => {
    const rule = { call: { tool: 'ask_person', arguments: { question: 'Which berth?' } }, reply: 'Berth {{result}}' }
    const tools = [{ type: 'ask_person' }]
    await createAgent(service(), 'harbour', { model: 'builtin/script', script: { rules: [rule] }, tools })
    const client = await connectMcp(t, service(), '2026-07-28')
    const heard: (string | undefined)[] = []
    const result = await client.callTool(
      { name: 'harbour', arguments: { message: 'ahoy' } },
      { onprogress: ({ message }) => heard.push(message) },
    )
    assert.match(String(textOf(result)), /^Receipt req_\w+: A person must decide/)
    assert.ok(heard.includes('Waiting for a person to decide'), heard.join())
  })

  test('400 for a body that is not a single JSON-RPC message', async () => {
    for (const body of [[], '1']) {
      const reply = await service().call('POST', '/v1/mcp', { body })
      assert.equal(reply.status, 400, reply.text)
      assert.equal(reply.body.error.code, -32_600)
    }
    assert.equal((await service().call('DELETE', '/v1/mcp')).status, 405)
  })
})

describe('a service that stops', () => {
  for (const revision of REVISIONS) {
    test(`${revision}: ends the streams on which clients wait for changes, and lets calls finish`, async (t) => {
      const { service, model, stop } = await startWithModel('sqlite', { MOORAGE_SERVER__DRAIN_TIMEOUT: '60s' })
      const listChanged = { tools: { onChanged() {}, autoRefresh: false } }
      await createAgent(service, 'pilot', { model: 'local/test' })
      const client = await connectMcp(t, service, revision, { options: { listChanged } })
      await client.listTools()
      const answers = Promise.withResolvers<void>()
      model.reply({ text: ['one two three four'] })
      model.holdNext(answers.promise)
      const call = client.callTool({ name: 'pilot', arguments: { message: 'slowly' } })
      await until('it runs', () => model.requests.length === 1)
      const started = performance.now()
      const stopping = stop()
      answers.resolve()
      await stopping
      assert.ok(performance.now() - started < 15_000 * PATIENCE, 'the time to drain is over')
      assert.equal(textOf(await call), 'one two three four')
    })
  }
})
