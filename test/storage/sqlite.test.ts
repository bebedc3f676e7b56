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

describe('SQLite reads', () => {
  test('that take too long are ended at their limit, each one in a row', () =>
    withPool(async ({ open }) => {
      const pool = open({ readTimeout: 100 })
      await inOneAttempt(async (attempt) => {
        const rows = 2_000_000 * attempt
        const sql = `with recursive counted(x) as (select 1 union all select x + 1 from counted limit ${rows}) select count(*) from counted`
        for (let i = 0; i < 2; i++) await assert.rejects(pool.run({ sql, values: [] }), ReadTimeoutError)
      })
    }))

  test('that wait until the store can be opened have not begun, so they are not ended', () =>
    withPool(({ path, open }) =>
      inOneAttempt(async (attempt) => {
        const other = new DatabaseSync(`${path}-${attempt}`)
        other.exec('begin exclusive')
        const pool = open({ path: `${path}-${attempt}`, readTimeout: 100 * attempt })
        const reading = pool.run({ sql: 'select 1 as one', values: [] })
        setTimeout(() => other.close(), 300 * attempt)
        assert.deepEqual((await reading).rows, [{ one: 1 }])
      }),
    ))

  test('leave nothing behind when they end, also if they fail', () =>
    withPool(async ({ open }) => {
      const pool = open({ readTimeout: 10_000 })
      const read = (column: string) => pool.run({ sql: `select ${column}`, values: [] }).catch(() => 'failed')
      for (const columns of [['unknown'], ['unknown', '1', 'unknown'], ['1', 'unknown', '2']]) {
        await Promise.all(columns.map(read))
        const { busy, waiting } = pool.state()
        assert.deepEqual([busy, waiting], [0, 0], columns.join())
      }
    }))
})

type OpenPool = (options: { path?: string; readTimeout: number }) => ReaderPool

/** Pools are closed at the end, and their stores removed. */
async function withPool(story: (given: { path: string; open: OpenPool }) => Promise<void>): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
  const path = join(data, 'moorage.db')
  const fail = (error: Error) => assert.fail(error)
  const pools: ReaderPool[] = []
  const open: OpenPool = (options) => {
    const pool = new ReaderPool({ path, onForeignChange() {}, onDamage: fail, onLost: fail, ...options })
    pools.push(pool)
    return pool
  }
  await story({ path, open })
  for (const pool of pools) await pool.close()
  await rm(data, { recursive: true })
}
