import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import * as invocations from '../../src/invocations/store.ts'
import { inTransaction, liveRuns, storageOf, storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { onEveryEngine, type Service, withService } from '../support/service/service.ts'

const slow = (ms: number) => ({ model: 'builtin/script', script: { rules: [{ reply: 'done', delay_ms: ms }] } })
/** Housekeeping runs about every ten seconds and would find everything. What is found sooner was announced. */
const TOLD_MS = 6_000
const oneAtATime = { limits: { max_concurrency: 1 } }

async function queue(service: Service, agent: string): Promise<string> {
  const { status, body, text } = await service.call('POST', `/v1/agents/${agent}/invoke`, {
    body: { message: 'go' },
    headers: { Prefer: 'respond-async' },
  })
  assert.equal(status, 202, text)
  return body.data.request_id
}

async function queueMany(service: Service, agent: string, total: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < total; i++) ids.push(await queue(service, agent))
  return ids
}

/** The agent's invocations as they are stored, in the order of their ids. */
async function runsOf(node: Service, agent_id: string) {
  const db = storeOf(node)
  const { seq } = await db.selectFrom('agents').select('seq').where('id', '=', agent_id).executeTakeFirstOrThrow()
  return db.selectFrom('all_invocations').selectAll().where('agent_seq', '=', seq).orderBy('id').execute()
}

function countOf(rows: { status: string }[], status: string): number {
  return rows.filter((row) => row.status === status).length
}

onEveryEngine(
  'queued invocations',
  (service, engine) => {
    test('start in the order in which they arrived, one at a time', async () => {
      const agent = await newAgent(service(), oneAtATime)
      const TOTAL = 50
      const ids = await queueMany(service(), agent, TOTAL)
      await until('all have run', async () => countOf(await runsOf(service(), agent), 'completed') === TOTAL)
      const rows = await runsOf(service(), agent)
      assert.deepEqual(
        rows.map(({ id }) => id),
        ids,
        'ids are in the order of arrival',
      )
      const begun = rows.toSorted((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0))
      assert.deepEqual(
        begun.map(({ id }) => id),
        ids,
      )
      for (const [i, { finished_at }] of rows.entries()) {
        const next = rows[i + 1]
        assert.ok(!next || (next.started_at ?? 0) >= (finished_at ?? Number.POSITIVE_INFINITY), 'one at a time')
      }
    })

    test('do not delay those of another agent', async () => {
      const crowd = await newAgent(service(), { ...slow(60_000), ...oneAtATime })
      const other = await newAgent(service())
      await queueMany(service(), crowd, 20)
      await queueMany(service(), other, 10)
      await until('the ten are done', async () => countOf(await runsOf(service(), other), 'completed') === 10)
      await until('one of the crowd runs', async () => countOf(await runsOf(service(), crowd), 'running') === 1)
      assert.equal(countOf(await runsOf(service(), crowd), 'queued'), 19)
      await service().call('DELETE', `/v1/agents/${crowd}`)
    })

    test('start immediately when a synchronous run frees its slot', (t) =>
      inOneAttempt(async () => {
        const held = await holdRuns(t)
        const agent = await newAgent(service(), { ...held.agent, ...oneAtATime })
        const answered = service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
        await until('it runs', () => held.count() === 1)
        const id = await queue(service(), agent)
        held.release()
        assert.equal((await answered).status, 200)
        const freed = service().now()
        const started = await until('the queued one has begun', async () => {
          return (await runsOf(service(), agent)).find((each) => each.id === id)?.started_at
        })
        assert.ok(started - freed < TOLD_MS, `${started - freed} ms after the place was free`)
      }))

    if (engine === 'postgres') {
      test('start soon even if their row was locked when it was their turn', () =>
        inOneAttempt(async () => {
          const agent = await newAgent(service(), { ...slow(60_000), ...oneAtATime })
          const [first, second = ''] = await queueMany(service(), agent, 2)
          await until('one runs', async () => countOf(await runsOf(service(), agent), 'running') === 1)
          await inTransaction(service(), async (db) => {
            await db.selectFrom('runs').select('id').where('id', '=', second).forUpdate().execute()
            await service().call('POST', `/v1/agents/${agent}/invocations/${first}/cancel`)
            await until('its place is free', () => liveRuns(service(), agent).length === 0)
            await delay(300)
          })
          const isRunning = async () => countOf(await runsOf(service(), agent), 'running') === 1
          await until('the second runs', isRunning, TOLD_MS / PATIENCE)
          await service().call('DELETE', `/v1/agents/${agent}`)
        }))
    }

    test('are cancelled when their agent is paused, like active runs', async () => {
      const agent = await newAgent(service(), { ...slow(60_000), ...oneAtATime })
      await queueMany(service(), agent, 3)
      await until('one runs', async () => countOf(await runsOf(service(), agent), 'running') === 1)
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
      await until('all have ended', async () =>
        (await runsOf(service(), agent)).every(({ finished_at }) => finished_at),
      )
      assert.deepEqual(
        (await runsOf(service(), agent)).map(({ status, response }) => [status, response]),
        [
          ['cancelled', null],
          ['cancelled', null],
          ['cancelled', null],
        ],
      )
    })

    test('and active ones are kept by retention, however old they are', async () => {
      const agent = await newAgent(service(), { ...slow(60_000), ...oneAtATime })
      await service().call('POST', `/v1/agents/hello/invoke`, { body: { message: 'go' } })
      await queueMany(service(), agent, 2)
      await until('one runs', async () => countOf(await runsOf(service(), agent), 'running') === 1)
      const storage = storageOf(service())
      const { now } = service()
      const tomorrow = now() + 24 * 3_600_000
      assert.ok((await invocations.remove(storage.db, tomorrow, 1_000)) > 0)
      // Runs of earlier tests might end meanwhile.
      await until('nothing more goes', async () => (await invocations.remove(storage.db, tomorrow, 1_000)) === 0)
      assert.deepEqual(
        (await runsOf(service(), agent)).map(({ status }) => status),
        ['running', 'queued'],
      )
      await service().call('DELETE', `/v1/agents/${agent}`)
    })

    test('start when their agent gets more slots', async () => {
      const agent = await newAgent(service(), { ...slow(60_000), ...oneAtATime })
      await queueMany(service(), agent, 3)
      await until('one runs', async () => countOf(await runsOf(service(), agent), 'running') === 1)
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { limits: { max_concurrency: 3 } } })
      await until('three run', async () => countOf(await runsOf(service(), agent), 'running') === 3)
      await service().call('DELETE', `/v1/agents/${agent}`)
    })
  },
  LOCAL_TOOLS,
)

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`stopping the service returns active and queued runs to the queue in order, on ${engine}`, () =>
    withService(engine, async (service) => {
      const agent = await newAgent(service, { ...slow(60_000), ...oneAtATime })
      const ids = await queueMany(service, agent, 4)
      await until('one runs', async () => countOf(await runsOf(service, agent), 'running') === 1)
      // A run without steps continues with the agent's current definition.
      await service.call('PATCH', `/v1/agents/${agent}`, { body: slow(1) })
      await service.restart()
      await until('all have run', async () => countOf(await runsOf(service, agent), 'completed') === 4)
      const rows = await runsOf(service, agent)
      const begun = rows.toSorted((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0)).map(({ id }) => id)
      assert.deepEqual(begun, ids)
    }))
}
