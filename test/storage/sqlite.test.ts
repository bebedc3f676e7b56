import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { openStorage } from '../../src/storage/open-storage.ts'
import { ReadTimeoutError } from '../../src/storage/read-limits.ts'
import { ReaderPool } from '../../src/storage/sqlite/reader-pool.ts'
import { inOneAttempt } from '../support/running/attempts.ts'

describe('a new SQLite store', () => {
  for (const lock of ['begin immediate', 'begin exclusive']) {
    test(`opens as soon as another process releases its lock: ${lock}`, async () => {
      const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
      const other = new DatabaseSync(join(data, 'moorage.db'))
      other.exec(lock)
      const opening = openStorage({ data, database: { poolSize: 1 } })
      setTimeout(() => other.close(), 300)
      const storage = await opening
      await storage.close()
      await rm(data, { recursive: true })
    })
  }
})

describe('SQLite reads that take too long', () => {
  test('are ended at their limit, each one in a row', async () => {
    const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
    const fail = (error: Error) => assert.fail(error)
    const watcher = { onForeignChange() {}, onDamage: fail, onLost: fail }
    const pool = new ReaderPool({ ...watcher, path: join(data, 'moorage.db'), readTimeout: 100 })
    await inOneAttempt(async (attempt) => {
      const rows = 2_000_000 * attempt
      const sql = `with recursive counted(x) as (select 1 union all select x + 1 from counted limit ${rows}) select count(*) from counted`
      for (let i = 0; i < 2; i++) await assert.rejects(pool.run({ sql, values: [] }), ReadTimeoutError)
    })
    await pool.close()
    await rm(data, { recursive: true })
  })
})
