import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { isPassing } from '../../src/storage/failures.ts'
import { openStorage, type Storage } from '../../src/storage/open-storage.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { ENGINES, type Engine } from '../support/service/service.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'

/** PostgreSQL's other end may be slow to answer while much else is tested. */
const WITHIN_MS = { sqlite: 300, postgres: 1_000 }
const LIMIT = { timeout: 240_000 * PATIENCE }

for (const engine of ENGINES) {
  describe(`a transaction that stays idle, on ${engine}`, () => {
    test('is rolled back, and transactions that wait for its locks continue', LIMIT, () =>
      withStorage(engine, async (storage) => {
        const wrote = Promise.withResolvers<void>()
        const wakeUp = Promise.withResolvers<void>()
        const stalled = storage.transaction(async (db) => {
          await write({ db }, 'stalled')
          wrote.resolve()
          await wakeUp.promise
          await db.updateTable('settings').set({ value: 'too late' }).execute()
        })
        await wrote.promise
        // On PostgreSQL, a transaction that waits for the row is idle, too, and might be ended a moment before the row is free.
        await until('the row is free', () =>
          write(storage, 'other').then(
            () => true,
            (error) => !isPassing(error),
          ),
        )
        wakeUp.resolve()
        await assert.rejects(stalled, engine === 'sqlite' ? /transaction was idle for 300 ms/ : Error)
        assert.deepEqual(await valueOf(storage), ['other'])
      }),
    )

    test("can't commit late", LIMIT, () =>
      withStorage(engine, async (storage) => {
        const wrote = Promise.withResolvers<void>()
        const wakeUp = Promise.withResolvers<void>()
        const stalled = storage.transaction(async (db) => {
          await write({ db }, 'stalled')
          wrote.resolve()
          await wakeUp.promise
        })
        await wrote.promise
        await storage.db.insertInto('settings').values({ name: 'next', value: '' }).execute()
        if (engine === 'postgres')
          await until('the server hears of it', async () => (await openTransactions(storage)) === 0)
        wakeUp.resolve()
        await assert.rejects(stalled)
        assert.deepEqual(await valueOf(storage), [])
      }),
    )

    test('does not affect others that share its commit', LIMIT, () =>
      withStorage(engine, async (storage) => {
        const end = Promise.withResolvers<void>()
        const insert = (name: string, then?: Promise<void>) =>
          storage.transaction(async (db) => {
            await db.insertInto('settings').values({ name, value: '' }).execute()
            await then
          })
        const stuck = insert('stuck', end.promise)
        await Promise.all(['a', 'b', 'c'].map((name) => insert(name)))
        const rows = await storage.db
          .selectFrom('settings')
          .select('name')
          .where('name', 'in', ['a', 'b', 'c', 'stuck'])
          .orderBy('name')
          .execute()
        assert.deepEqual(
          rows.map(({ name }) => name),
          ['a', 'b', 'c'],
        )
        end.resolve()
        await stuck.catch(() => {})
      }),
    )
  })
}

describe('a transaction that works for longer, on sqlite', () => {
  test('is left alone', LIMIT, () =>
    withStorage('sqlite', async (storage) => {
      const workLong = async (db: Database) => {
        const end = performance.now() + 2 * WITHIN_MS.sqlite
        while (performance.now() < end) await db.selectFrom('settings').select('name').execute()
        await write({ db }, 'busy')
      }
      // On a busy machine this process may be the one that stands still.
      await inOneAttempt(() => storage.transaction(workLong))
      assert.deepEqual(await valueOf(storage), ['busy'])
    }),
  )
})

function write({ db }: Pick<Storage, 'db'>, value: string) {
  return db.insertInto('settings').values({ name: 'contested', value }).execute()
}

async function valueOf({ db }: Storage): Promise<string[]> {
  const rows = await db.selectFrom('settings').select('value').where('name', '=', 'contested').execute()
  return rows.map(({ value }) => value)
}

async function openTransactions({ db }: Storage): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and state = 'idle in transaction'`.execute(db)
  return rows[0]?.count ?? 0
}

async function withStorage(engine: Engine, story: (storage: Storage) => Promise<void>): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
  const database = engine === 'postgres' ? await freshPostgres() : undefined
  const storage = await openStorage({
    data,
    database: { url: database?.url, poolSize: 5, silentMs: WITHIN_MS[engine] },
  })
  try {
    await story(storage)
  } finally {
    await storage.close()
    await database?.drop()
    await rm(data, { recursive: true })
  }
}
