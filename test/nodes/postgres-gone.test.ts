import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openStorage } from '../../src/storage/open-storage.ts'
import { startPostgres } from '../support/stores/postgres.ts'

describe('a PostgreSQL that restarts', () => {
  test('in the middle of a transaction fails that transaction and nothing else', async (t) => {
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
