import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { readSamples } from '../support/clients/prometheus.ts'
import { liveRuns, rowsOf, storeOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS, type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { writeMemory } from '../support/slices/memory.ts'

type SeenCall = { method: string; path: string; headers: IncomingHttpHeaders; body: string }

for (const engine of ANY_ENGINE) {
  describe(`the steps of a run on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let tools: LocalServer
    const seen: SeenCall[] = []

    before(async () => {
      tools = await startLocalServer(async (request, response) => {
        const body = await readBody(request)
        seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
        response.end(`answer of ${request.url}`)
      })
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
    })
    after(async () => {
      await stop()
      await tools.close()
    })

    const newAgent = async (name: string, more: object = {}) => {
      const http = (tool: string, method: string) => ({ type: 'http', name: tool, method, url: `${tools.url}/${tool}` })
      const body = { name, model: 'local/tiny', tools: [http('read', 'GET'), http('write', 'POST')], ...more }
      const { status, text } = await service.call('POST', '/v1/agents', { body })
      assert.equal(status, 201, text)
    }
    const queue = async (agent: string, context: object = {}): Promise<string> => {
      const asked = { body: { message: 'go', context }, headers: { Prefer: 'respond-async' } }
      const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, asked)
      return `/v1/agents/${agent}/invocations/${body.data.request_id}`
    }
    /** The context of a user of whom the agent remembers something. */
    const known = async (agent: string) => {
      const context = { user_id: 'ada' }
      await writeMemory(service, agent, [{ content: 'Ada likes to go', context }])
      return context
    }
    const receiptOf = async (path: string) => (await service.call('GET', path)).body.data
    const ended = async (path: string) => {
      await until('the end', async () => (await receiptOf(path)).finished_at !== null)
      return receiptOf(path)
    }

    test('are in the receipt, with the attempt, times and cost', async () => {
      await newAgent('teller')
      seen.length = 0
      model.reply(
        { text: ['Let me see.'], calls: [{ name: 'read', arguments: { a: 1 } }] },
        { calls: [{ name: 'write', arguments: { b: 2 } }] },
        { text: ['Done'] },
      )
      const receipt = await ended(await queue('teller'))
      assert.equal(receipt.response, 'Let me see.\n\nDone')
      const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
      const shown = receipt.steps.map(({ started_at, finished_at, duration_ms, ...step }: Record<string, unknown>) => {
        assert.ok(String(started_at) <= String(finished_at) && Number(duration_ms) >= 0)
        return step
      })
      assert.deepEqual(shown, [
        { kind: 'model', attempt: 1, model: 'local/tiny', usage, cost_usd: null, characters: 11 },
        { kind: 'tool', attempt: 1, id: 'call_1', name: 'read', arguments: { a: 1 }, result: 'answer of /read?a=1' },
        { kind: 'model', attempt: 1, model: 'local/tiny', usage, cost_usd: null, characters: 0 },
        { kind: 'tool', attempt: 1, id: 'call_1', name: 'write', arguments: { b: 2 }, result: 'answer of /write' },
        { kind: 'model', attempt: 1, model: 'local/tiny', usage, cost_usd: null, characters: 6 },
      ])
      // Every call carries a key of its own: the number of its step.
      const keys = seen.map(({ headers }) => headers['idempotency-key'])
      assert.deepEqual(keys, [`${receipt.request_id}-2`, `${receipt.request_id}-4`])
      const left = await rowsOf(service, 'steps')
      assert.deepEqual(left, [], 'the receipt tells them now')
    })

    test('are shown while the run is active', async () => {
      await newAgent('slow')
      model.reply({ text: ['Wait'], calls: [{ name: 'read', arguments: {} }] }, { breaks: 'silence' })
      const asked = model.requests.length
      // What is recalled is a step, too, and is stored together with the first answer.
      const path = await queue('slow', await known('slow'))
      await until('three steps', async () => (await receiptOf(path)).steps.length === 3)
      await until('the model is asked again', () => model.requests.length === asked + 2)
      const { status, response, steps, tokens_used } = await receiptOf(path)
      assert.deepEqual(
        [status, response, steps.map(({ kind }: { kind: string }) => kind), tokens_used],
        ['running', null, ['recall', 'model', 'tool'], 15],
      )
      const list = await service.call('GET', '/v1/agents/slow/invocations?status=running')
      assert.equal(list.body.data[0].steps.length, 3)
      assert.equal((await service.call('POST', `${path}/cancel`)).status, 200)
      const cancelled = await receiptOf(path)
      assert.deepEqual([cancelled.status, cancelled.response], ['cancelled', 'Wait'])
      assert.ok(cancelled.tokens_used > 15, 'also what broke off is paid for')
    })

    test("a tool's own Idempotency-Key header wins over the call's key", async () => {
      const own = { type: 'http', name: 'read', url: `${tools.url}/own`, headers: { 'Idempotency-Key': 'mine' } }
      await newAgent('own-key', { tools: [own] })
      seen.length = 0
      model.reply({ calls: [{ name: 'read', arguments: {} }] }, { text: ['ok'] })
      await ended(await queue('own-key'))
      assert.equal(seen[0]?.headers['idempotency-key'], 'mine')
    })

    test('a run waits as long as its provider says, without occupying a process', async () => {
      await newAgent('patient')
      model.reply({ status: 429, headers: { 'retry-after-ms': '3600000.5' } }, { text: ['At last'] })
      const path = await queue('patient')
      await until('the wait', async () => (await receiptOf(path)).status === 'waiting')
      await until('no process works on it', () => liveRuns(service).length === 0)
      const waiting = await receiptOf(path)
      assert.equal(waiting.steps[0].kind, 'wait')
      assert.equal((await service.call('GET', '/v1/agents/patient/invocations?status=waiting')).body.data.length, 1)
      // The test skips nearly all of the hour; the rest passes in real time.
      service.advance(3_599_000)
      wakeJobs(service)
      const { status, response, duration_ms, steps } = await ended(path)
      assert.deepEqual([status, response], ['completed', 'At last'])
      assert.ok(duration_ms < 3_000_000, 'the wait is not work')
      assert.deepEqual(
        steps.map(({ kind, attempt }: Record<string, unknown>) => [kind, attempt]),
        [
          ['wait', 1],
          ['model', 2],
        ],
      )
    })

    test('of a run that waited are counted once, and the wait costs nothing', async () => {
      await newAgent('parted')
      const tokens = async () => {
        const samples = readSamples((await service.call('GET', '/metrics')).text)
        const spent = samples.filter(({ name }) => name === 'moorage_tokens_total')
        return Object.fromEntries(spent.map(({ labels, value }) => [labels['direction'], value]))
      }
      const earlier = await tokens()
      const answers = Promise.withResolvers<void>()
      model.reset()
      model.reply(
        { calls: [{ name: 'read', arguments: {} }] },
        { status: 429, headers: { 'retry-after': '3600' } },
        { text: ['At last'] },
      )
      model.holdNext(answers.promise)
      const path = await queue('parted', await known('parted'))
      await until('the model is asked', () => model.requests.length === 1)
      service.advance(7_000)
      answers.resolve()
      await until('the wait', async () => (await receiptOf(path)).status === 'waiting')
      service.advance(3_600_000)
      wakeJobs(service)
      const { response, duration_ms, tokens_used, steps } = await ended(path)
      assert.deepEqual([response, tokens_used], ['At last', 30])
      assert.deepEqual(
        steps.map(({ kind, attempt }: Record<string, unknown>) => `${kind} ${attempt}`),
        ['recall 1', 'model 1', 'tool 1', 'wait 1', 'model 2'],
      )
      assert.ok(duration_ms >= 7_000 && duration_ms < 3_600_000, `${duration_ms} ms`)
      const spent = await tokens()
      assert.deepEqual([spent['in'] - earlier['in'], spent['out'] - earlier['out']], [20, 10])
    })

    test('reset the count of lost attempts when the run makes progress', async () => {
      await newAgent('tenacious')
      const answers = Promise.withResolvers<void>()
      model.reset()
      model.reply({ calls: [{ name: 'read', arguments: {} }] }, { breaks: 'silence' }, { text: ['Made it'] })
      model.holdNext(answers.promise)
      const path = await queue('tenacious')
      const db = storeOf(service)
      const change = (row: object) =>
        db
          .updateTable('runs')
          .set(row)
          .where('id', '=', path.slice(path.lastIndexOf('/') + 1))
          .execute()
      await until('the model is asked', () => model.requests.length === 1)
      // One more lost attempt would be too many.
      await change({ lapses: 9 })
      answers.resolve()
      await until('it has got on', () => model.requests.length === 2)
      await change({ owner: 'a dead node', lease_until: 0 })
      wakeJobs(service)
      const { status, response, attempts } = await ended(path)
      assert.deepEqual([status, response, attempts.length], ['completed', 'Made it', 2])
    })

    test('a waiting run is cancelled immediately when its agent is paused', async () => {
      await newAgent('paused')
      await newAgent('other')
      model.reply(
        { status: 429, headers: { 'retry-after': '3600' } },
        { status: 429, headers: { 'retry-after': '3600' } },
      )
      const paths = [await queue('paused'), await queue('other')]
      for (const path of paths) await until('the wait', async () => (await receiptOf(path)).status === 'waiting')
      await service.call('PATCH', '/v1/agents/paused', { body: { status: 'paused' } })
      const { status, error, steps } = await ended(paths[0] ?? '')
      assert.deepEqual([status, error.code, steps.length], ['cancelled', 'conflict', 1])
      assert.equal((await receiptOf(paths[1] ?? '')).status, 'waiting')
    })

    test('a waiting run can be cancelled', async () => {
      await newAgent('called-off')
      model.reply({ status: 429, headers: { 'retry-after': '3600' } })
      const path = await queue('called-off')
      await until('the wait', async () => (await receiptOf(path)).status === 'waiting')
      service.advance(1_800_000)
      const { status, body } = await service.call('POST', `${path}/cancel`)
      const { duration_ms, ...cancelled } = body.data
      assert.deepEqual([status, cancelled.status, cancelled.steps.length], [200, 'cancelled', 1])
      assert.ok(duration_ms !== null && duration_ms < 1_800_000, `the wait is not work: ${duration_ms} ms`)
    })
  })
}
