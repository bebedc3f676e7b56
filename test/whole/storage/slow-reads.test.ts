import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { openStorage, type Storage } from '../../../src/storage/open-storage.ts'
import { ReadTimeoutError } from '../../../src/storage/read-limits.ts'
import { storageOf } from '../../support/inside.ts'
import { inOneAttempt } from '../../support/running/attempts.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { standStill } from '../../support/running/stand-still.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { ENGINES, type Engine, type Service, withService } from '../../support/service/service.ts'
import { freshPostgres, freshSqlite } from '../../support/stores/fresh-store.ts'

const WITHIN = { timeout: 240_000 * PATIENCE }

for (const engine of ENGINES) {
  describe(`a slow read on ${engine}`, () => {
    test('does not delay other reads, even those requested right after it', WITHIN, () =>
      withStorage(engine, { readTimeout: 120_000 }, (storage) =>
        inOneAttempt(async (attempt) => {
          const { db } = storage
          const { read, end } = await beginSlow(engine, storage, 3 ** (attempt - 1))
          const ended: string[] = []
          const slow = Promise.all([1, 2].map(() => read().execute(db))).then(() => ended.push('slow'))
          const quick = Array.from({ length: 50 }, () => db.selectFrom('settings').select('name').execute())
          await Promise.all(quick).then(() => ended.push('quick'))
          for (let i = 0; i < 50; i++) await db.selectFrom('settings').select('name').execute()
          const inOrder = [...ended]
          await end()
          await slow
          assert.deepEqual(inOrder, ['quick'])
        }),
      ),
    )

    test('is ended at its limit, and reads continue', WITHIN, () =>
      withStorage(engine, { readTimeout: 100 }, async ({ db }) => {
        await inOneAttempt(async () => {
          const told = await Promise.allSettled([endlessly(engine).execute(db), endlessly(engine, 'again').execute(db)])
          for (const outcome of told) {
            assert.ok(outcome.status === 'rejected' && outcome.reason instanceof ReadTimeoutError, JSON.stringify(told))
            assert.match(outcome.reason.message, /longer than 100 ms \(database\.readTimeout\)/)
          }
        })
        await untilHolds(async () => {
          const quick = Array.from({ length: 20 }, () => db.selectFrom('settings').select('name').execute())
          await Promise.all(quick)
        })
        if (engine === 'postgres') await until('the server has ended it', async () => (await underWay(db)) === 0)
      }),
    )

    test('in a transaction has no limit, because its changes must be complete', WITHIN, () =>
      withStorage(engine, { readTimeout: 100 }, async (storage) => {
        await storage.transaction((db) => slowly(engine).execute(db))
      }),
    )

    test('sees what was committed before, whichever thread reads it', WITHIN, () =>
      withStorage(engine, {}, async ({ db }) => {
        const slow = slowly(engine).execute(db)
        for (let i = 0; i < 30; i++) {
          await db
            .insertInto('settings')
            .values({ name: `n${i}`, value: '' })
            .execute()
          const reads = Array.from({ length: 4 }, () =>
            db.selectFrom('settings').select('name').where('name', '=', `n${i}`).execute(),
          )
          for (const rows of await Promise.all(reads)) assert.equal(rows.length, 1)
        }
        await slow
      }),
    )

    test('is 504 for its client', WITHIN, () =>
      withService(
        engine,
        async (service) => {
          const agent = await untilHolds(() => newAgent(service))
          await untilHolds(async () => {
            const body = { message: 'leaves a log entry' }
            assert.equal((await service.call('POST', `/v1/agents/${agent}/invoke`, { body })).status, 200)
          })
          await inOneAttempt(async (attempt) => {
            const end = await slowDownLogs(service, 3 ** (attempt - 1))
            const reply = await service.call('GET', `/v1/agents/${agent}/logs?search=x`).finally(end)
            assert.equal(reply.status, 504, reply.text)
            assert.equal(reply.body.error.code, 'timeout')
          })
          await untilHolds(async () => {
            assert.equal((await service.call('GET', `/v1/agents/${agent}/memory`)).status, 200)
          })
          assert.match(service.log(), /a read took too long/)
        },
        { MOORAGE_DATABASE__READ_TIMEOUT: '300ms' },
      ),
    )
  })
}

describe('a PostgreSQL read that ends at its limit', () => {
  test('does not affect the next statement on the same connection', WITHIN, async () => {
    const database = await freshPostgres()
    const storage = await openStorage({ data: '', database: { url: database.url, poolSize: 1, readTimeout: 100 } })
    try {
      await untilHolds(() => sql`select 1`.execute(storage.db))
      // The server may be the one that is late, and then the read is ended rightly.
      await inOneAttempt(async () => {
        const read = sql`select pg_sleep(0.05)`.execute(storage.db)
        await delay(20)
        // The process stands still: the limit passes, although the answer is there.
        await Promise.all([standStill(300), read])
      })
      await storage.transaction((db) => sql`select pg_sleep(0.5)`.execute(db))
    } finally {
      await storage.close()
      await database.drop()
    }
  })
})

/** A few tenths of a second of work for the engine alone. */
function slowly(engine: Engine, name = 'n', times = 1): RawBuilder<unknown> {
  if (engine === 'postgres') return sql`select pg_sleep(0.4) as ${sql.ref(name)}`
  return sql`select count(*) as ${sql.ref(name)} from (
    with recursive counted(x) as (select 1 union all select x + 1 from counted limit ${sql.lit(times * 1_500_000)}) select x from counted)`
}

/** A read that lasts until its end is allowed. One of SQLite ends by itself. */
async function beginSlow(engine: Engine, storage: Storage, times: number) {
  if (engine === 'sqlite') return { read: () => slowly(engine, 'n', times), end: async () => {} }
  const lock = sql`select pg_advisory_xact_lock(77)`
  return { read: () => lock, end: await holdLock(storage, lock) }
}

/** A transaction of PostgreSQL that holds a lock until the end is allowed. */
async function holdLock({ transaction }: Pick<Storage, 'transaction'>, lock: RawBuilder<unknown>) {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = transaction(async (db) => {
    await lock.execute(db)
    held.resolve()
    await released.promise
  })
  await Promise.race([held.promise, holding])
  return () => {
    released.resolve()
    return holding
  }
}

/** Each read of the logs takes long, until the end is allowed. */
async function slowDownLogs(node: Service, times: number): Promise<() => Promise<void>> {
  const { engine } = node
  const { db, transaction } = storageOf(node)
  if (engine === 'postgres') {
    // The service's own work that has no limit waits too, and continues afterwards.
    return holdLock({ transaction }, sql`lock table logs in access exclusive mode`)
  }
  // Tables of SQLite have a rowid, views do not.
  await sql`alter table logs rename to kept_logs`.execute(db)
  await sql`create view logs as select kept_logs.rowid as rowid, kept_logs.* from kept_logs, (${slowly(engine, 'n', times)}) as slow`.execute(
    db,
  )
  return async () => {
    await sql`drop view logs`.execute(db)
    await sql`alter table kept_logs rename to logs`.execute(db)
  }
}

/** What only the limit ends. A statement of SQLite cannot be ended: there it takes long enough to come to the limit. */
function endlessly(engine: Engine, name = 'n'): RawBuilder<unknown> {
  return engine === 'postgres' ? sql`select pg_sleep(60) as ${sql.ref(name)}` : slowly(engine, name)
}

async function underWay(db: Storage['db']): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and state = 'active' and query like '%pg_sleep(60)%'
    and pid <> pg_backend_pid()`.execute(db)
  return rows[0]?.count ?? 0
}

async function withStorage(
  engine: Engine,
  limits: { readTimeout?: number },
  story: (storage: Storage) => Promise<void>,
): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
  const database = engine === 'postgres' ? await freshPostgres() : await freshSqlite(data)
  const storage = await openStorage({ data, database: { url: database?.url, poolSize: 5, ...limits } })
  try {
    await story(storage)
  } finally {
    await storage.close()
    await database?.drop()
    await rm(data, { recursive: true })
  }
}
