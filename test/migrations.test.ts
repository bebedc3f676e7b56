import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import { migrate } from '../src/storage/migrate.ts'
import type { Migration } from '../src/storage/migrations/migration.ts'
import { until } from './support/running/until.ts'
import { betweenNodes, onBothEngines } from './support/service/service.ts'
import { onBothStores } from './support/stores/store.ts'

const nothing: Migration = async () => {}
const addTable: Migration = async (db) => {
  await db.schema.createTable('later').addColumn('id', 'text').execute()
}

async function versionOf(db: unknown): Promise<number> {
  const { rows } = await sql<{ version: number }>`select version from schema_version`.execute(db as Kysely<unknown>)
  return rows[0]?.version ?? 0
}

onBothStores('a schema that is newer than a program', (opened) => {
  test('is used as it is when its migrations only add, and refused when one breaks older programs', async () => {
    const { storage, engine } = opened()
    const { db } = storage
    const known = Array.from({ length: await versionOf(db) }, () => nothing)
    await migrate(db, engine, [...known, addTable])
    await migrate(db, engine, known)
    assert.equal(await versionOf(db), known.length + 1)

    const breaks: Migration = Object.assign(async () => {}, { breaks: true as const })
    await migrate(db, engine, [...known, addTable, breaks])
    await migrate(db, engine, [...known, addTable, breaks, nothing])
    await assert.rejects(migrate(db, engine, [...known, addTable]), {
      message: `the database has schema version ${known.length + 3}, this program knows ${known.length + 1}: it was used by a newer Moorage. Programs that know fewer than ${known.length + 2} cannot use it: start that version, or restore a backup`,
    })
    await migrate(db, engine, [...known, addTable, breaks])
  })
})

onBothEngines('a migration', (service, engine) => {
  betweenNodes(engine)('does not stand in the way of others while it waits for a table, and tries again', async () => {
    const { db } = service().app.parts.storage
    const known = Array.from({ length: await versionOf(db) }, () => nothing)
    let tries = 0
    const alter: Migration = async (schema) => {
      tries++
      await schema.schema.alterTable('webhooks').addColumn('later', 'text').execute()
    }
    const busy = await db.startTransaction().execute()
    await busy.selectFrom('webhooks').select('id').execute()
    const migrated = migrate(db, engine, [...known, alter], { lock_ms: 100, again_ms: 50 })
    await until('it has given up once and tries again', () => tries >= 2)
    // A read that comes behind a try waits for the end of that try only.
    assert.equal((await service().call('GET', '/v1/webhooks')).status, 200)
    assert.equal(await versionOf(db), known.length)
    await busy.rollback().execute()
    await migrated
    assert.equal(await versionOf(db), known.length + 1)
  })

  betweenNodes(engine)('happens once, however many start it, while an old node goes on serving', async () => {
    const { db } = service().app.parts.storage
    const known = Array.from({ length: await versionOf(db) }, () => nothing)
    let runs = 0
    const grow: Migration = async (schema) => {
      runs++
      await schema.schema.alterTable('invocations').addColumn('later', 'text').execute()
      await schema.schema.createIndex('invocations_by_later').on('invocations').column('later').execute()
    }
    const statuses: number[] = []
    let over = false
    const serving = Array.from({ length: 4 }, async () => {
      while (!over) {
        const { status } = await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'go' } })
        statuses.push(status)
      }
    })
    await Promise.all(Array.from({ length: 3 }, () => migrate(db, engine, [...known, grow])))
    const before = statuses.length
    while (statuses.length < before + 20) await service().call('GET', '/v1/agents/hello/invocations')
    over = true
    await Promise.all(serving)
    assert.equal(runs, 1)
    assert.deepEqual(new Set(statuses), new Set([200]))
    // It would start again, too.
    await service().restart()
    assert.equal((await service().call('GET', '/v1/agents')).status, 200)
  })
})
