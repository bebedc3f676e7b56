import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { inTransaction, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { onBothEngines, type Service, withService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

/** A store with more is not counted while a client waits. */
const MANY = 3_000

onBothEngines("the sizes in the service's report", (service) => {
  test('are counted for each request while there are few rows', async () => {
    const { rows, measured_at } = await storageOf(service())
    await createAgent(service(), 'another')
    service().advance(1_000)
    const later = await storageOf(service())
    assert.equal(later.rows.agents, rows.agents + 1)
    assert.ok(later.measured_at > measured_at)
  })

  test('are the last counted ones for a large database: no request waits for a count, even after a restart', () =>
    withService(service().engine, async (large) => {
      large.holdClock()
      const before = await keptIn(large)
      await addAgents(large)
      assert.deepEqual(await storageOf(large), before)
      large.advance(60_000)
      assert.deepEqual(await storageOf(large), before, 'while it is counted, the last one is told')
      await until('it is counted', async () => (await storageOf(large)).rows.agents > MANY)
      const counted = await storageOf(large)
      await createAgent(large, 'another')
      await large.restart()
      assert.deepEqual(await storageOf(large), counted)
    }))

  test('are no longer counted once the service stops', () =>
    withService(service().engine, async (large) => {
      await keptIn(large)
      await addAgents(large)
      large.advance(3_600_000)
      // An hour has passed, so the service counts when it starts.
      await large.restart()
      await large.restart()
      // A client requests the sizes, and gets the last counted ones.
      await storageOf(large)
      await large.restart()
      assert.doesNotMatch(large.log(), /"level":"(?:warn|error)"/)
    }))
})

async function storageOf(service: Service) {
  const { status, body, text } = await service.call('GET', '/v1/system')
  assert.equal(status, 200, text)
  const { measured_at, ...storage } = body.data.storage
  return { ...storage, measured_at: Date.parse(measured_at) }
}

/** What a new service has counted of itself. */
async function keptIn(node: Service) {
  const db = storeOf(node)
  const find = () => db.selectFrom('settings').select('value').where('name', '=', 'store_sizes').executeTakeFirst()
  await until('it was counted', async () => (await find()) !== undefined)
  return JSON.parse((await find())?.value ?? '')
}

/** The database itself writes the rows. */
async function addAgents(node: Service): Promise<void> {
  await inTransaction(node, (db) =>
    sql
      .raw(`insert into agents (id, project_id, name, status, definition, own_memory, created_at, updated_at)
        with recursive counted(i) as (select 1 union all select i + 1 from counted where i < ${MANY})
        select 'agt_many' || cast(i as text), project_id, 'agent-' || cast(i as text), 'running', definition, 0, i, i
        from counted cross join (select project_id, definition from agents where name = 'hello') hello`)
      .execute(db),
  )
}
