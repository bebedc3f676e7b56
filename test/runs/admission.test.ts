import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { storeOf } from '../support/inside.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Reply, type Service, startService } from '../support/service/service.ts'

function invoke(service: Service, agent: string, headers: Record<string, string> = {}) {
  return service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
}

for (const engine of ANY_ENGINE) {
  describe(`an overloaded service, on ${engine}`, () => {
    let service: Service
    let tool: Awaited<ReturnType<typeof startLocalServer>>
    let calls = 0
    before(async () => {
      tool = await startLocalServer(async (_request, response) => {
        calls++
        await delay(200)
        response.end('done')
      })
      service = await startService(engine, {
        MOORAGE_LIMITS__BACKLOG: '3',
        MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
        MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.0/8',
      })
    })
    after(async () => {
      await service.stop()
      await tool.close()
    })

    const toolAgent = () =>
      newAgent(service, {
        model: 'builtin/script',
        tools: [
          {
            type: 'http',
            name: 'act',
            description: 'Acts',
            method: 'POST',
            url: tool.url,
            input_schema: { type: 'object' },
          },
        ],
        script: { rules: [{ call: { tool: 'act', arguments: {} }, reply: 'acted' }] },
      })

    const askers = { 'without keys': () => ({}), 'with keys': () => ({ 'Idempotency-Key': randomUUID() }) }
    for (const [name, headers] of Object.entries<() => Record<string, string>>(askers)) {
      test(`refuses runs that it can't store before they call tools, and stores those that ran, ${name}`, async () => {
        const agent = await toolAgent()
        calls = 0
        const replies = await Promise.all(Array.from({ length: 20 }, () => invoke(service, agent, headers())))
        const answered = replies.filter(({ status }) => status === 200).length
        assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200, 503]))
        assert.equal(calls, answered, `${calls} runs for ${answered} answers`)
        const { pagination } = (await service.call('GET', `/v1/agents/${agent}/invocations`)).body
        assert.equal(pagination.total, answered)
      })
    }

    test('frees reserved slots, however the runs ended', async () => {
      const failing = await newAgent(service, {
        model: 'builtin/script',
        script: { rules: [{ fail: 'no coal left' }] },
      })
      for (let i = 0; i < 5; i++) assert.equal((await invoke(service, failing)).status, 500)
      await service.call('PATCH', `/v1/agents/${failing}`, { body: { status: 'paused' } })
      for (let i = 0; i < 5; i++) assert.equal((await invoke(service, failing)).status, 409)
      assert.equal((await invoke(service, 'hello')).status, 200)
    })

    test('frees the slots of queued runs after the database failed to return what to start', async () => {
      const db = storeOf(service)
      await sql`alter table versions rename to away`.execute(db)
      let queued: Reply
      try {
        queued = await invoke(service, 'hello', { Prefer: 'respond-async' })
        assert.equal(queued.status, 202, queued.text)
        await until('the log tells it', () => service.log().includes('could not look for queued invocations'))
      } finally {
        await sql`alter table away rename to versions`.execute(db)
      }
      await until('the run ends', async () => {
        service.advance(1_000)
        const path = `/v1/agents/hello/invocations/${queued.body.data.request_id}`
        return (await service.call('GET', path)).body.data.status === 'completed'
      })
      assert.equal((await invoke(service, 'hello')).status, 200)
    })
  })
}
