import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { migrate } from '../../src/storage/schema/migrate.ts'
import type { Migration } from '../../src/storage/schema/migration.ts'
import { MigrationWatch } from '../../src/storage/schema/migration-watch.ts'
import { MIGRATIONS } from '../../src/storage/schema/released-migrations.ts'
import { storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { betweenNodes, onEveryEngine } from '../support/service/service.ts'
import { onBothStores } from '../support/stores/store.ts'

const addColumn: Migration = {
  name: 'agents-have-notes',
  async run({ schema }) {
    await schema
      .alterTable('agents')
      .addColumn('notes', 'text', (column) => column.notNull().defaultTo('none'))
      .execute()
  },
}
const nothing: Migration = { name: 'nothing', async run() {} }

async function migrated(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('migrations').select('name').orderBy('migrated_at').execute()
  return rows.map(({ name }) => name)
}

const RELEASED = MIGRATIONS.map(({ name }) => name)

onBothStores('a second migration', (opened) => {
  test('changes a database with data once, and a program without it keeps working', async () => {
    const { storage, engine, options } = opened()
    const { db } = storage
    const times = { created_at: 0, updated_at: 0 }
    const agent = { project_id: 'prj_default', name: 'one', status: 'running', definition: '{}', ...times }
    await db
      .insertInto('agents')
      .values({ ...agent, id: 'agt_1' })
      .execute()

    for (const _ of ['first start', 'second start']) await migrate(db, engine, [...MIGRATIONS, addColumn])
    assert.deepEqual(await migrated(db), [...RELEASED, 'agents-have-notes'])
    assert.partialDeepStrictEqual(await db.selectFrom('agents').selectAll().execute(), [{ id: 'agt_1', notes: 'none' }])

    const older = await openStorage(options)
    await older.db
      .insertInto('agents')
      .values({ ...agent, id: 'agt_2', name: 'two' })
      .execute()
    await older.close()
    assert.equal((await db.selectFrom('agents').select('id').execute()).length, 2)
  })

  test('leaves the database unchanged if it fails', async () => {
    const { storage, engine } = opened()
    const before = await migrated(storage.db)
    const fails: Migration = {
      name: 'fails',
      async run({ schema }) {
        await schema.createTable('half').addColumn('id', 'text').execute()
        throw new Error('no room')
      },
    }
    await assert.rejects(migrate(storage.db, engine, [...MIGRATIONS, addColumn, fails]), /no room/)
    assert.deepEqual(await migrated(storage.db), before)
    const tables = await storage.db.introspection.getTables()
    assert.ok(!tables.some(({ name }) => name === 'half'))
  })

  test('reports how many migrations are left, without those of an earlier start', async () => {
    const { storage, engine } = opened()
    const watch = new MigrationWatch({ info() {} })
    const said: (string | undefined)[] = []
    const [first, ...later] = ['one', 'two', 'three'].map((name) => ({
      name,
      run: async () => void said.push(watch.doing),
    }))
    await migrate(storage.db, engine, [...MIGRATIONS, first as Migration], { watch })
    await migrate(storage.db, engine, [...MIGRATIONS, first as Migration, ...later], { watch })
    assert.deepEqual(
      said,
      ['one, step 1 of 1', 'two, step 1 of 2', 'three, step 2 of 2'].map(
        (far) => `the database is being migrated: ${far}`,
      ),
    )
  })

  test('that breaks older programs makes them refuse the database; newer programs that know it continue', async () => {
    const { storage, engine, options } = opened()
    const breaks: Migration = { ...nothing, name: 'agents-were-moved', breaks: true }
    await migrate(storage.db, engine, [...MIGRATIONS, breaks])
    await assert.rejects(openStorage(options), {
      message:
        'the database was changed by a newer version of Moorage ("agents-were-moved"). Start that version, or restore a backup',
    })
    await migrate(storage.db, engine, [...MIGRATIONS, breaks, nothing])
    assert.equal((await migrated(storage.db)).at(-1), 'nothing')
  })
})

onEveryEngine('a migration', (service, engine) => {
  betweenNodes(engine)('does not block others while it waits for a table, and retries', async () => {
    const db = storeOf(service())
    let tries = 0
    const alter: Migration = {
      name: 'alter',
      async run({ schema }) {
        tries++
        await schema.alterTable('webhooks').addColumn('later', 'text').execute()
      },
    }
    const busy = await db.startTransaction().execute()
    await busy.selectFrom('webhooks').select('id').execute()
    const done = migrate(db, engine, [...MIGRATIONS, alter], { lock_ms: 100, again_ms: 50 })
    await until('it has given up once and tries again', () => tries >= 2)
    // A read that waits behind a try waits only for that try to end.
    assert.equal((await service().call('GET', '/v1/webhooks')).status, 200)
    assert.deepEqual(await migrated(db), RELEASED)
    await busy.rollback().execute()
    await done
    assert.deepEqual(await migrated(db), [...RELEASED, 'alter'])
  })

  betweenNodes(engine)('runs once, however many nodes start it, while an old node keeps serving', async () => {
    const db = storeOf(service())
    let runs = 0
    const grow: Migration = {
      name: 'grow',
      async run({ schema }) {
        runs++
        await schema.alterTable('invocations').addColumn('later', 'text').execute()
        await schema.createIndex('invocations_by_later').on('invocations').column('later').execute()
      },
    }
    const statuses: number[] = []
    let over = false
    const serving = Array.from({ length: 4 }, async () => {
      while (!over) {
        const { status } = await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'go' } })
        statuses.push(status)
      }
    })
    await Promise.all(Array.from({ length: 3 }, () => migrate(db, engine, [...MIGRATIONS, grow])))
    const before = statuses.length
    while (statuses.length < before + 20) await service().call('GET', '/v1/agents/hello/invocations')
    over = true
    await Promise.all(serving)
    assert.equal(runs, 1)
    assert.deepEqual(new Set(statuses), new Set([200]))
    // It could also start again.
    await service().restart()
    assert.equal((await service().call('GET', '/v1/agents')).status, 200)
  })
})
