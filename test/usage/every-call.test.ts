import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { storageOf, storeOf, wakeJobs } from '../support/inside.ts'
import { type EmbeddingServer, startEmbeddingServer } from '../support/outside/embedding-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { found, searchMemory, writeMemory } from '../support/slices/memory.ts'

const MODEL = 'local/test-model'
const MINUTE = 60_000
/** As the model server reports it unless it is told otherwise. */
const EACH = { input: 10, output: 5 }

for (const engine of ANY_ENGINE) {
  describe(`every model call writes a usage record, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let embeddings: EmbeddingServer
    let stop: () => Promise<void>
    before(async () => {
      embeddings = await startEmbeddingServer()
      ;({ service, model, stop } = await startWithModel(engine, {
        MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible',
        MOORAGE_MEMORY__EMBEDDER__BASE_URL: embeddings.url,
        MOORAGE_MEMORY__EMBEDDER__MODEL: 'concepts-1',
        MOORAGE_PRICES: JSON.stringify([
          { model: 'local/*', input: 1, output: 2 },
          { model: 'embedder/concepts-1', input: 0.5, output: 0 },
        ]),
      }))
      embeddings.report((texts) => ({ prompt_tokens: 7 * texts.length }))
    })
    after(async () => {
      await stop()
      await embeddings.close()
    })

    const lines = () => storeOf(service).selectFrom('ledger').selectAll().orderBy('id').execute()
    const usageOf = async (query = '') => (await service.call('GET', `/v1/usage?${query}`)).body.data
    const ended = async (agent: string, request_id: string) => {
      const path = `/v1/agents/${agent}/invocations/${request_id}`
      await until('the run has ended', async () => {
        const { status } = (await service.call('GET', path)).body.data
        return !['queued', 'running', 'waiting'].includes(status)
      })
    }
    const jobEnded = async (kind: string) => {
      const storage = storageOf(service)
      const { now } = service
      const asked = now()
      wakeJobs(service)
      await until(`${kind} has run`, async () => {
        const job = await storage.db.selectFrom('jobs').selectAll().where('kind', '=', kind).executeTakeFirst()
        return job !== undefined && job.owner === null && job.run_at > asked
      })
    }

    test('and usage records, receipts, sums and the servers agree to the token', async () => {
      const agent = await newAgent(service, { model: MODEL, memory: { facts: 'model', summarize: 2 } })
      const path = `/v1/agents/${agent}`
      const context = { user_id: 'ada', session_id: 's1' }
      const body = { message: 'The dog is ill', context }
      const headers = { Authorization: `Bearer ${service.admin}`, 'Content-Type': 'application/json' }
      const post = (url: string, sent: object, more = {}) =>
        fetch(`${service.url}${url}`, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(sent) })

      await service.call('POST', `${path}/invoke`, { body })
      await (await post(`${path}/invoke`, body, { Accept: 'text/event-stream' })).text()
      const keyed = { 'Idempotency-Key': 'once' }
      for (let i = 0; i < 2; i++) await service.call('POST', `${path}/invoke`, { body, headers: keyed })
      const queued = await service.call('POST', `${path}/invoke`, { body, headers: { Prefer: 'respond-async' } })
      await ended(agent, queued.body.data.request_id)
      await (await post('/v1/chat/completions', { model: agent, messages: [{ role: 'user', content: 'Hi' }] })).text()
      const schedule = await service.call('POST', `${path}/schedules`, { body: { every: '1h', message: 'Well?' } })
      const run = await service.call('POST', `${path}/schedules/${schedule.body.data.id}/run`)
      await ended(agent, run.body.data.request_id)
      await service.call('POST', '/v1/providers/local/test', { body: { model: 'tiny' } })
      await writeMemory(service, agent, [{ content: 'Our hound sleeps' }])
      service.advance(11 * MINUTE)
      for (const kind of ['facts', 'summaries', 'embeddings']) {
        await jobEnded(kind)
        service.advance(MINUTE + 1)
        await jobEnded(kind)
      }
      await searchMemory(service, agent, { query: 'dogs' })

      const all = await lines()
      const asked = all.filter((line) => line.model.startsWith('local/'))
      assert.equal(asked.length, model.requests.length)
      const embedded = all.filter((line) => line.model === 'embedder/concepts-1')
      assert.equal(embedded.length, embeddings.requests.length)
      assert.equal(all.length, asked.length + embedded.length)
      assert.deepEqual([...new Set(all.map(({ purpose }) => purpose))].toSorted(), [
        'facts',
        'memory',
        'run',
        'search',
        'summary',
        'test',
      ])
      assert.deepEqual([...new Set(all.map(({ door }) => door))].toSorted(), ['api', 'openai', null].toSorted())
      const texts = embeddings.requests.reduce((sum, request) => sum + request.body.input.length, 0)
      const input_tokens = model.requests.length * EACH.input + texts * 7
      const output_tokens = model.requests.length * EACH.output
      const { totals } = await usageOf()
      assert.deepEqual(
        [totals.calls, totals.input_tokens, totals.output_tokens],
        [all.length, input_tokens, output_tokens],
      )
      const nano = model.requests.length * (EACH.input * 1_000 + EACH.output * 2_000) + texts * 7 * 500
      assert.equal(totals.cost_usd, nano / 1e9)
      assert.deepEqual((await usageOf('group_by=user')).totals, totals)

      const receipts = (await service.call('GET', `${path}/invocations?limit=100`)).body.data
      const ofRuns = await usageOf('purpose=run')
      const sum = (field: string) =>
        receipts.reduce((total: number, one: Record<string, number>) => total + Number(one[field]), 0)
      assert.equal(sum('tokens_used'), ofRuns.totals.total_tokens)
      assert.equal(Number(sum('cost_usd').toFixed(9)), ofRuns.totals.cost_usd)
    })

    test('and none is made while the project is paused: searches use keywords, and background work is done later', async () => {
      const agent = await newAgent(service, { model: MODEL, memory: { facts: 'model', summarize: 2 } })
      const context = { user_id: 'bob', session_id: 's2' }
      for (const message of ['The anchor is stuck', 'It is up again']) {
        await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
      }
      await service.call('POST', '/v1/pause', { body: { reason: 'too dear' } })
      await writeMemory(service, agent, [{ content: 'The anchor weighs a ton' }])
      const called = () => [model.requests.length, embeddings.requests.length]
      const earlier = called()
      const work = async () => {
        service.advance(11 * MINUTE)
        for (const kind of ['facts', 'summaries', 'embeddings']) await jobEnded(kind)
      }
      await work()
      assert.equal((await found(service, agent, { query: 'anchor ton' }))[0], 'The anchor weighs a ton')
      assert.deepEqual(called(), earlier)

      await service.call('POST', '/v1/resume', { body: {} })
      await work()
      const purposes = new Set((await lines()).filter((line) => line.agent_id === agent).map(({ purpose }) => purpose))
      assert.ok(purposes.has('facts') && purposes.has('summary'), [...purposes].join())
      assert.ok(embeddings.requests.length > (earlier[1] ?? 0))
    })

    test('erasing a user keeps the costs, but not the user', async () => {
      const known = await usageOf()
      assert.ok((await usageOf('user_id=ada')).totals.calls > 0)
      await service.call('DELETE', '/v1/users/ada')
      assert.equal((await usageOf('user_id=ada')).totals.calls, 0)
      assert.deepEqual((await usageOf()).totals, known.totals)
    })

    test('usage is kept for 400 days', async () => {
      service.advance(401 * 24 * 60 * MINUTE)
      await jobEnded('retention')
      service.advance(61 * MINUTE)
      await jobEnded('retention')
      assert.deepEqual(await lines(), [])
      assert.equal((await usageOf('from=2020-01-01T00:00:00Z')).totals.calls, 0)
    })
  })
}
