import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { type ChildService, startChildService } from '../support/service/child-service.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'

const SCHEDULES = 12
/** All are created before the first tick comes. */
const FIRST_MS = 2_500 * PATIENCE
/** The ticks come one after the other. */
const STEP_MS = 30

/** A node looks for the runs of dead nodes every few seconds. */
const TAKEN_OVER_MS = 20_000

type CreatedSchedules = { agent: string; ids: string[] }

async function createSchedules(service: ChildService): Promise<CreatedSchedules> {
  for (let within = FIRST_MS; ; within *= 2) {
    const agent = `worker-${within}`
    await service.call('POST', '/v1/agents', { name: agent })
    const first = Date.now() + within
    const made = Array.from({ length: SCHEDULES }, (_, n) => {
      const at = new Date(first + n * STEP_MS).toISOString()
      return service.send('POST', `/v1/agents/${agent}/schedules`, { message: 'tick', at })
    })
    const replies = await Promise.all(made)
    if (Date.now() < first) {
      for (const reply of replies) assert.equal(reply?.status, 201, JSON.stringify(reply?.body))
      return { agent, ids: replies.map((reply) => reply?.body.data.id) }
    }
    assert.ok(within < 30 * FIRST_MS, 'schedules are made too slowly')
    // It took too long. Others are made, with more time.
    await service.call('DELETE', `/v1/agents/${agent}`)
  }
}

/** How many complete runs each schedule has. */
async function countRuns(service: ChildService, agent: string): Promise<Map<string, number>> {
  const { data } = await service.call('GET', `/v1/agents/${agent}/invocations?status=completed&limit=100`)
  const counts = new Map<string, number>()
  for (const { schedule_id } of data) counts.set(schedule_id, (counts.get(schedule_id) ?? 0) + 1)
  return counts
}

async function assertOnce(service: ChildService, { agent, ids }: CreatedSchedules): Promise<void> {
  await until('the runs', async () => (await countRuns(service, agent)).size === SCHEDULES, TAKEN_OVER_MS)
  assert.deepEqual(await countRuns(service, agent), new Map(ids.map((id) => [id, 1])))
  const { pagination } = await service.call('GET', `/v1/agents/${agent}/invocations`)
  assert.equal(pagination.total, SCHEDULES)
  for (const id of ids) {
    const { data } = await service.call('GET', `/v1/agents/${agent}/schedules/${id}`)
    assert.deepEqual([data.missed, data.next_at, data.last_tick_at], [0, null, data.at])
  }
}

describe('kill -9 at a tick', () => {
  test('each tick begins one run, on two nodes of which one dies', async (t) => {
    const database = await freshPostgres()
    t.after(() => database.drop())
    const stays = await startChildService(t, 'postgres', { DATABASE_URL: database.url })
    const dies = await startChildService(t, 'postgres', {
      DATABASE_URL: database.url,
      MOORAGE_INIT_KEY: stays.admin,
      MOORAGE_DATA: stays.data,
    })
    const made = await createSchedules(stays)
    await until('the first ticks', async () => (await countRuns(stays, made.agent)).size > 2)
    await dies.kill()
    // What the dead node had begun continues when its leases end.
    await until('the ticks', async () => (await listAll(stays, made.agent)).length === SCHEDULES)
    await stays.inStore(async (db) => {
      await db.updateTable('runs').set({ lease_until: 0 }).where('status', '=', 'running').execute()
    })
    await assertOnce(stays, made)
  })

  test('a SQLite store continues where it was', async (t) => {
    const service = await startChildService(t, 'sqlite')
    const made = await createSchedules(service)
    await until('the first ticks', async () => (await countRuns(service, made.agent)).size > 2)
    await service.kill()
    await service.start()
    await assertOnce(service, made)
  })
})

async function listAll(service: ChildService, agent: string): Promise<unknown[]> {
  return (await service.call('GET', `/v1/agents/${agent}/invocations?limit=100`)).data
}
