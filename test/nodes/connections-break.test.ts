import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, startService } from '../support/service/service.ts'
import { untilStatus } from '../support/slices/approvals.ts'
import { startCommitProxy } from '../support/stores/commit-proxy.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'

describe('when a connection to PostgreSQL breaks', () => {
  const opened = new AsyncDisposableStack()
  let service: Service
  let proxy: Awaited<ReturnType<typeof startCommitProxy>>
  let server: LocalServer
  let agent: string
  let calls = 0
  before(async () => {
    const database = await freshPostgres()
    opened.defer(() => database.drop())
    proxy = await startCommitProxy(new URL(database.url))
    opened.defer(() => proxy.close())
    server = await startLocalServer((_, response) => {
      calls++
      // The next step is the result of this call.
      proxy.loseCommit(1, 'insert into "steps"')
      response.end('sunny')
    })
    opened.defer(() => server.close())
    service = await startService('postgres', { DATABASE_URL: proxy.url, ...LOCAL_TOOLS })
    opened.defer(() => service.stop())
    const script = { rules: [{ call: { tool: 'look', arguments: {} }, reply: 'It is {{result}}.' }] }
    const tools = [{ type: 'http', name: 'look', method: 'GET', url: server.url }]
    agent = await newAgent(service, { model: 'builtin/script', tools, script })
  })
  after(() => opened.disposeAsync())

  const invoke = (headers: Record<string, string>) =>
    service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Weather?' }, headers })

  test('while a run ends, later runs end nevertheless', async () => {
    const echo = await newAgent(service)
    const end = () => service.call('POST', `/v1/agents/${echo}/invoke`, { body: { message: 'hi' } })
    // The first run looks up which runs have callbacks.
    proxy.breakAt('select distinct "webhooks"."request_id"')
    assert.equal((await end()).status, 503)
    assert.equal((await end()).status, 200)
  })

  test('after a step was stored, a client with an Idempotency-Key gets its answer', async () => {
    calls = 0
    const reply = await invoke({ 'Idempotency-Key': 'weather' })
    assert.ok(proxy.keepCommits())
    assert.equal(reply.status, 200, reply.text)
    assert.equal(reply.body.data.response, 'It is sunny.')
    assert.equal(calls, 1)
  })

  test('after a step was stored, a background run ends in its first attempt', async () => {
    calls = 0
    const { request_id } = (await invoke({ Prefer: 'respond-async' })).body.data
    const receipt = await untilStatus(service, `/v1/agents/${agent}/invocations/${request_id}`, 'completed')
    assert.ok(proxy.keepCommits())
    assert.equal(receipt.attempts.length, 1)
    assert.equal(calls, 1)
    const usage = await service.call('GET', `/v1/usage?group_by=agent&agent_id=${agent}`)
    assert.equal(usage.body.data.totals.calls, 4, usage.text)
  })
})
