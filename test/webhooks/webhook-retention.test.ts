import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { removeOlder } from '../../src/webhooks/delivery/delivery-store.ts'
import { databaseUrl, storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { startService } from '../support/service/service.ts'
import { createAgent, createWebhook, happen, LOCAL_RECEIVERS } from '../support/slices/webhooks.ts'
import { lockWaiters } from '../support/stores/lock-waiters.ts'

test('an event goes with the last of its deliveries, also if two nodes remove them at the same time', async (t) => {
  const service = await startService('postgres', { ...LOCAL_RECEIVERS, MOORAGE_START_PAUSED: 'true' })
  t.after(() => service.stop())
  const agent_id = await createAgent(service)
  for (const path of ['a', 'b']) await createWebhook(service, { agent_id, url: `http://127.0.0.1:8000/${path}` })
  await happen(service, { agent_id })
  const { transaction } = storageOf(service)
  const future = service.now() + 1_000
  const [removed, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = transaction(async (db) => {
    assert.equal(await removeOlder(db, future, 1), 1)
    removed.resolve()
    await mayEnd.promise
  })
  await removed.promise
  let isOver = false
  const second = transaction((db) => removeOlder(db, future, 1)).finally(() => {
    isOver = true
  })
  const other = new pg.Client({ connectionString: databaseUrl(service) })
  await other.connect()
  try {
    await until('the other node waits or has ended', async () => isOver || (await lockWaiters(other, 'events')) > 0)
  } finally {
    await other.end()
    mayEnd.resolve()
  }
  assert.equal(await second, 1)
  await first
  for (const table of ['deliveries', 'events'] as const) {
    assert.deepEqual(await storeOf(service).selectFrom(table).select('id').execute(), [], table)
  }
})
