import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openStorage } from '../../src/storage/open-storage.ts'
import { connect, openPool } from '../../src/storage/postgres/postgres.ts'
import { receiveRaw } from '../support/outside/receiver.ts'
import { until } from '../support/running/until.ts'
import { startPostgres } from '../support/stores/postgres.ts'

describe('when PostgreSQL restarts', () => {
  test('only transactions in progress fail', async (t) => {
    const postgres = await startPostgres()
    t.after(() => postgres.close())
    const storage = await openStorage({ data: '', database: { url: postgres.url, poolSize: 2 } })
    t.after(() => storage.close())
    const restarted = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const transaction = storage.transaction(async (db) => {
      await db.insertInto('settings').values({ name: 'colour', value: 'blue' }).execute()
      reached.resolve()
      await restarted.promise
      await db.selectFrom('settings').selectAll().execute()
    })
    await reached.promise
    await postgres.stop()
    await postgres.start()
    restarted.resolve()
    await assert.rejects(transaction)
    const rows = await storage.db.selectFrom('settings').selectAll().where('name', '=', 'colour').execute()
    assert.deepEqual(rows, [])
  })
})

describe('a PostgreSQL that accepts connections but never answers', () => {
  test('is given up after five seconds, also by requests that wait for a busy connection', async (t) => {
    const { port } = await receiveRaw(t, (socket) => socket.resume())
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const pool = openPool({ url: `postgres://moorage@127.0.0.1:${port}/moorage`, poolSize: 1 })
    const said: string[] = []
    for (let i = 0; i < 2; i++) connect(pool).catch(({ message }) => said.push(message))
    t.mock.timers.tick(4_999)
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(said, [])
    t.mock.timers.tick(1)
    t.mock.timers.reset()
    await until('both have heard', () => said.length === 2)
    assert.deepEqual(said.toSorted(), [
      'Connection terminated due to connection timeout',
      'timeout exceeded when trying to connect',
    ])
  })
})
