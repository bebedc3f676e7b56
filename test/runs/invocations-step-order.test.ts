import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Engine, withService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

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
    const { db } = service.app.parts.storage
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
    await use({ service, model, called, queue, receiptOf, rowsOf })
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
}

const BOTH = {
  calls: [
    { name: 'a', arguments: {} },
    { name: 'b', arguments: {} },
  ],
}

for (const engine of ANY_ENGINE) {
  test(`no step is stored or told before an earlier one, on ${engine}`, () =>
    withTools(engine, {}, async ({ service, model, queue, receiptOf }) => {
      const { live, storage } = service.app.parts
      const heard: unknown[] = []
      const written: unknown[] = []
      const { write } = storage
      let failed = false
      storage.write = (entry) => {
        const rows = entry.writes.filter(({ into }) => into.table === 'steps').map(({ row }) => row)
        if (!failed && rows.some(({ kind }) => kind === 'tool')) {
          failed = true
          return Promise.reject(Object.assign(new Error('the connection broke'), { code: 'ECONNRESET' }))
        }
        written.push(...rows.map(({ position }) => position))
        return write(entry)
      }
      live.onBegun((run) => {
        run.follow({ characters: 0, tools: 0 }, ({ event, data }) => {
          if (event === 'tool_result') heard.push((data as { name: string }).name)
        })
      })
      model.reply(BOTH, { text: ['done'] })
      const id = await queue()
      const { status, steps } = await until('the end', async () => {
        const receipt = await receiptOf(id)
        return receipt.finished_at !== null && receipt
      })
      assert.equal(status, 'completed')
      assert.deepEqual(written, [0, 1, 2])
      const told = steps.flatMap(({ kind, name }: { kind: string; name: string }) => (kind === 'tool' ? name : []))
      assert.deepEqual(
        [heard, told],
        [
          ['a', 'b'],
          ['a', 'b'],
        ],
      )
    }))

  test(`a run goes on after steps among which one is missing, on ${engine}`, () =>
    withTools(engine, {}, async ({ service, model, called, queue, receiptOf, rowsOf }) => {
      const { db } = service.app.parts.storage
      model.reply(BOTH, { breaks: 'silence' }, { text: ['done'] })
      const id = await queue()
      await until('three steps', async () => (await rowsOf(id)).length === 3)
      await until('the model is asked again', () => model.requests.length === 2)
      // An earlier release has left it so, and was killed.
      await db.deleteFrom('steps').where('request_id', '=', id).where('position', '=', 1).execute()
      await db.updateTable('invocations').set({ owner: 'service:dead', lease_until: 0 }).where('id', '=', id).execute()
      service.app.jobs.wake()
      await until('the end', async () => (await receiptOf(id)).finished_at !== null)
      assert.deepEqual([(await receiptOf(id)).status, called.toSorted()], ['completed', ['a', 'a', 'b']])
    }))

  test(`a wait that is over at once leaves no gap, on ${engine}`, () =>
    // The second wait does not fit into so short a run.
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

  test(`a run whose wait is over before it is laid aside goes on at once, on ${engine}`, () =>
    withTools(engine, { timeout_ms: 5_000 }, async ({ service, model, queue, receiptOf }) => {
      const { storage } = service.app.parts
      const { write } = storage
      storage.write = async (entry) => {
        const written = await write(entry)
        if (entry.endings?.some(({ of }) => of.columns.includes('wake_at'))) service.advance(7_000)
        return written
      }
      model.reply({ status: 429, headers: { 'retry-after': '6' } }, { text: ['At last'] })
      const id = await queue()
      await until('the end', async () => (await receiptOf(id)).finished_at !== null)
      assert.equal((await receiptOf(id)).response, 'At last')
    }))
}
