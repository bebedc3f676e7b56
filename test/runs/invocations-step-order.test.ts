import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEvents, type SseEvent } from '../support/clients/sse.ts'
import { storeOf, wakeJobs } from '../support/inside.ts'
import { alterStore } from '../support/invariants/watch-invariants.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Engine, MANY_NODES, withService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'
import { breakConnectionOnce, holdBack } from '../support/stores/unwilling-store.ts'

/** A service, a model, and the tools a and b; b answers after a has. */
async function withTools(engine: Engine, limits: object, use: (world: World) => Promise<void>): Promise<void> {
  const model = await startModelServer()
  const called: string[] = []
  const aHasAnswered = Promise.withResolvers<void>()
  const tools = await startLocalServer(async (request, response) => {
    const name = (request.url ?? '').slice(1)
    called.push(name)
    if (name === 'b') await aHasAnswered.promise
    response.end('ok')
    if (name === 'a') aHasAnswered.resolve()
  })
  const run = async (service: Service) => {
    const db = storeOf(service)
    const http = (name: string) => ({ type: 'http', name, url: `${tools.url}/${name}` })
    const fields = { model: 'local/tiny', tools: [http('a'), http('b')], limits }
    const agent = await newAgent(service, fields)
    const queue = async () => {
      const headers = { Prefer: 'respond-async' }
      const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
      return body.data.request_id
    }
    const receiptOf = async (id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${id}`)).body.data
    const rowsOf = (id: string) =>
      db
        .selectFrom('steps')
        .select(['position', 'kind', 'definition'])
        .where('request_id', '=', id)
        .orderBy('position')
        .execute()
    const follow = async (id: string) => {
      const headers = { Authorization: `Bearer ${service.admin}` }
      return allEvents(await fetch(`${service.url}/v1/agents/${agent}/invocations/${id}/stream`, { headers }))
    }
    await use({ service, model, called, queue, receiptOf, rowsOf, follow })
  }
  try {
    await withService(engine, run, { ...LOCAL_TOOLS, ...localProvider(model.url) })
  } finally {
    await model.close()
    await tools.close()
  }
}

type Service = Parameters<Parameters<typeof withService>[1]>[0]
type World = {
  service: Service
  model: ModelServer
  /** The names of the tools, in the order of their calls. */
  called: string[]
  queue(): Promise<string>
  // The shape is the test's to assert.
  // oxlint-disable-next-line typescript/no-explicit-any
  receiptOf(id: string): Promise<any>
  rowsOf(id: string): Promise<{ position: number; kind: string; definition: string | null }[]>
  /** Everything that a client learns of the run. */
  follow(id: string): Promise<SseEvent[]>
}

const BOTH = {
  calls: [
    { name: 'a', arguments: {} },
    { name: 'b', arguments: {} },
  ],
}

for (const engine of MANY_NODES.filter((each) => each === 'postgres')) {
  test(`no step is reported before an earlier one, though the connection breaks, on ${engine}`, () =>
    withTools(engine, {}, async ({ service, model, queue, receiptOf, follow }) => {
      await breakConnectionOnce(service, 'a result of a tool')
      model.reply(BOTH, { text: ['done'] })
      const id = await queue()
      const results = (await follow(id))
        .filter(({ event }) => event === 'tool_result')
        .map(({ data }) => (data as { name: string }).name)
      assert.deepEqual(results, ['a', 'b'])
      const { status, attempts, steps } = await receiptOf(id)
      assert.deepEqual([status, attempts.length], ['completed', 1])
      assert.deepEqual(
        steps.map(({ kind, name }: { kind: string; name?: string }) => name ?? kind),
        ['model', 'a', 'b', 'model'],
      )
    }))

  test(`a run whose wait ends before it is stored as waiting continues, on ${engine}`, () =>
    withTools(engine, { timeout_ms: 5_000 }, async ({ service, model, queue, receiptOf }) => {
      const { asked, letGo } = await holdBack(service, 'a wait')
      model.reply({ status: 429, headers: { 'retry-after': '6' } }, { text: ['At last'] })
      const id = await queue()
      await asked()
      service.advance(7_000)
      await letGo()
      await until('the end', async () => (await receiptOf(id)).finished_at !== null)
      assert.equal((await receiptOf(id)).response, 'At last')
    }))
}

for (const engine of ANY_ENGINE) {
  test(`a run continues after steps among which one is missing, on ${engine}`, () =>
    withTools(engine, {}, async ({ service, model, called, queue, receiptOf, rowsOf }) => {
      const db = storeOf(service)
      model.reply(BOTH, { breaks: 'silence' }, { text: ['done'] })
      const id = await queue()
      await until('three steps', async () => (await rowsOf(id)).length === 3)
      await until('the model is asked again', () => model.requests.length === 2)
      // As an earlier release that was killed would leave it.
      alterStore(db)
      await db.deleteFrom('steps').where('request_id', '=', id).where('position', '=', 1).execute()
      await db.updateTable('runs').set({ owner: 'service:dead', lease_until: 0 }).where('id', '=', id).execute()
      wakeJobs(service)
      await until('the end', async () => (await receiptOf(id)).finished_at !== null)
      assert.deepEqual([(await receiptOf(id)).status, called.toSorted()], ['completed', ['a', 'a', 'b']])
    }))

  test(`a wait that is over at once leaves no gap, on ${engine}`, () =>
    // The run's timeout is too short for the second wait.
    withTools(engine, { timeout_ms: 1_000 }, async ({ model, queue, receiptOf, rowsOf }) => {
      const again = { status: 429, headers: { 'retry-after': '0' } }
      const stepsOfOne = async () => {
        model.reset()
        model.reply(again, again, BOTH, { breaks: 'silence' })
        const id = await queue()
        return until('the steps, or an end', async () => {
          const found = await rowsOf(id)
          if (found.filter(({ kind }) => kind === 'tool').length === 2) return found
          // The machine may be so busy that the time of the run is over before.
          return (await receiptOf(id)).finished_at === null ? undefined : []
        })
      }
      const rows = await until('a run that came so far', async () => {
        const found = await stepsOfOne()
        return found.length > 0 ? found : undefined
      })
      assert.deepEqual(
        rows.map(({ position, kind, definition }) => [position, kind, definition !== null]),
        [
          [0, 'wait', true],
          [1, 'model', false],
          [2, 'tool', false],
          [3, 'tool', false],
        ],
      )
    }))
}
