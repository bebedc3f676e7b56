import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { announce } from '../../src/storage/database.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { MIGRATIONS, UNRELEASED } from '../../src/storage/schema/released-migrations.ts'
import { assertRefusal } from '../support/clients/refusal.ts'
import { stopApp, storeOf } from '../support/inside.ts'
import { troubleStore } from '../support/invariants/watch-invariants.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { until } from '../support/running/until.ts'
import { startChild } from '../support/service/child.ts'
import {
  betweenNodes,
  ENGINES,
  type Engine,
  onEveryEngine,
  type Reply,
  type Service,
  withService,
} from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'
import { testPostgres } from '../support/stores/postgres.ts'
import { onBothStores } from '../support/stores/store.ts'

for (const engine of ENGINES) {
  describe(`an empty database, on ${engine}`, () => {
    test('five nodes that start together migrate it once', () =>
      withEmpty(engine, async (open) => {
        const storages = await Promise.all(Array.from({ length: 5 }, open))
        try {
          for (const { db } of storages) {
            const migrated = await db.selectFrom('migrations').select('name').execute()
            assert.deepEqual(
              migrated,
              MIGRATIONS.map(({ name }) => ({ name })),
            )
            assert.deepEqual(await db.selectFrom('agents').selectAll().execute(), [])
          }
        } finally {
          await Promise.all(storages.map((storage) => storage.close()))
        }
      }))

    betweenNodes(engine)('five services that start together make one first admin key and one demo agent', async () => {
      await withService(engine, async (service) => {
        const db = storeOf(service)
        for (const table of ['claims', 'keys', 'agents', 'settings'] as const) await db.deleteFrom(table).execute()
        await stopApp(service)
        const nodes = await Promise.all(Array.from({ length: 5 }, () => service.beside()))
        try {
          const node = nodes[0] as (typeof nodes)[number]
          assert.equal((await node.call('GET', '/v1/agents')).body.pagination.total, 1)
          assert.equal((await node.call('GET', '/v1/keys')).body.pagination.total, 1)
        } finally {
          await Promise.all(nodes.map((each) => each.stop()))
        }
      })
    })
  })

  describe(`a database that another version has used, on ${engine}`, () => {
    test('is refused in one sentence when a newer one has broken with this one', () =>
      withEmpty(engine, async (open) => {
        const storage = await open()
        await storage.db.insertInto('migrations').values({ name: 'far-later', breaks: 1, migrated_at: 1 }).execute()
        await storage.close()
        await assert.rejects(open(), {
          message:
            'the database was changed by a newer version of Moorage ("far-later"). Start that version, or restore a backup',
        })
      }))

    test('is refused in one sentence when it was made before the first release, and left as it is', () =>
      withEmpty(engine, async (open) => {
        const { db, close } = await open()
        await sql`drop table migrations`.execute(db)
        await sql`create table schema_version (version integer not null)`.execute(db)
        await close()
        // Twice, because the first refusal must not have made the database usable.
        for (const _ of [1, 2]) await assert.rejects(open(), { message: UNRELEASED })
      }))

    test('is refused in the same sentence when an unreleased schema made it, and left as it is', () =>
      withEmpty(engine, async (open) => {
        const { db, close } = await open()
        await db.deleteFrom('migrations').execute()
        const made = { name: 'first-schema-0123456789ab', breaks: 0, migrated_at: 0 }
        await db.insertInto('migrations').values(made).execute()
        await sql`alter table agents drop column security`.execute(db)
        await close()
        for (const _ of [1, 2]) await assert.rejects(open(), { message: UNRELEASED })
      }))
  })
}

onBothStores('changes that other nodes are notified about', (opened) => {
  test('are announced after the transaction commits, and never if it does not', async () => {
    const { storage } = opened()
    const heard: string[] = []
    storage.onChange((change) => heard.push(change))
    const times = (change: string) => heard.filter((one) => one === change).length
    // A listener that might have missed something announces everything at any time, which says nothing about one change.
    const isTold = (change: string) => times(change) > times('keys')

    await storage.transaction(async (db) => {
      await announce(db, 'agents')
      assert.ok(!isTold('agents'), 'not before the commit')
    })
    assert.ok(isTold('agents'))
    const failed = storage.transaction(async (db) => {
      await announce(db, 'webhooks')
      throw new Error('changed its mind')
    })
    await assert.rejects(failed, /changed its mind/)
    assert.ok(!isTold('webhooks'))
    await assert.rejects(announce(storage.db, 'agents'), /needs a transaction/)
  })
})

onEveryEngine('the data directory', (service) => {
  const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

  test('is for its owner alone, and so is the master key', async () => {
    assert.equal(await modeOf(service().data), '700')
    assert.equal(await modeOf(join(service().data, 'master.key')), '600')
  })

  test('a start with another master key is refused with the reason', async () => {
    const other = randomBytes(32).toString('hex')
    await stopApp(service())
    await assert.rejects(service().beside({ MOORAGE_MASTER_KEY: other }), {
      message: /^this database was written with another master key\. Set MOORAGE_MASTER_KEY/,
    })
    await service().restart()
    assert.equal((await service().call('GET', '/v1/agents')).status, 200)
  })

  test('a master key that others may read is refused', async () => {
    const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
    try {
      await writeFile(join(data, 'master.key'), randomBytes(32).toString('base64'), { mode: 0o644 })
      await chmod(join(data, 'master.key'), 0o644)
      await assert.rejects(service().beside({ MOORAGE_DATA: data }), /other users can read the master key/)
    } finally {
      await rm(data, { recursive: true })
    }
  })
})

describe('an existing data directory', () => {
  test('is closed to others when the service starts', async () => {
    const home = await mkdtemp(join(tmpdir(), 'moorage-test-'))
    const data = join(home, 'data')
    await mkdir(data, { mode: 0o755 })
    const storage = await openStorage({ data, database: { poolSize: 1 } })
    await storage.close()
    assert.equal((await stat(data)).mode & 0o777, 0o700)
    await rm(home, { recursive: true })
  })

  test('can only be read by its owner, including new and existing SQLite files', async () => {
    const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
    const files = ['moorage.db', 'moorage.db-wal', 'moorage.db-shm'].map((name) => join(data, name))
    const modes = () => Promise.all(files.map(async (file) => ((await stat(file)).mode & 0o777).toString(8)))
    const first = await openStorage({ data, database: { poolSize: 1 } })
    assert.deepEqual(await modes(), ['600', '600', '600'])
    for (const file of files) await chmod(file, 0o644)
    const second = await openStorage({ data, database: { poolSize: 1 } })
    assert.deepEqual(await modes(), ['600', '600', '600'])
    await Promise.all([first.close(), second.close()])
    await rm(data, { recursive: true })
  })
})

describe('SQLite that another process changes', () => {
  test('a key that it revokes is refused within a second', () =>
    withService('sqlite', async (service) => {
      await inOneAttempt(async () => {
        const { id, secret } = await createKey(service, { role: 'viewer' })
        const self = () => service.call('GET', '/v1/keys/self', { key: secret })
        assert.equal((await self()).status, 200)
        await elsewhere(service, `update keys set revoked_at = 1 where id = '${id}'`)()
        await until('the key is refused', async () => (await self()).status === 401, 1000)
      })
    }))

  test('while it writes, requests wait and are answered; reads do not wait', () =>
    withService('sqlite', async (service) => {
      const letGo = elsewhere(service, 'begin immediate')
      await until('the other process holds the lock', () => isLocked(service))
      const created = service.call('POST', '/v1/agents', { body: { name: 'patient' } })
      assert.equal((await service.call('GET', '/v1/agents')).status, 200)
      await letGo()
      assert.equal((await created).status, 201)
    }))
})

describe('the SQLite store', () => {
  test('everything that was answered is on disk: every commit is synced', () =>
    withService('sqlite', async (node) => {
      const db = storeOf(node)
      const pragma = async (name: string) =>
        (await sql<Record<string, unknown>>`${sql.raw(`pragma ${name}`)}`.execute(db)).rows[0]?.[name]
      const FULL = 2
      assert.deepEqual([await pragma('journal_mode'), await pragma('synchronous')], ['wal', FULL])
    }))
})

describe('a full disk', () => {
  const PAYLOAD = 'words that take room '.repeat(150)
  const isWritten = (reply: Reply | undefined) => reply?.status === 200 || reply?.status === 201

  test('503 for writes, while reads work; writes work again when there is space', () =>
    withService('sqlite', async (service) => {
      const db = storeOf(service)
      troubleStore(db)
      const limitTo = (pages: number) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(db)
      const { rows: size } = await sql<{ pages: number }>`select page_count as pages from pragma_page_count`.execute(db)
      const send = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
        service.call('POST', path, { body, headers })
      const writes: Record<string, (n: string) => ReturnType<typeof send>> = {
        agent: (n) => send('/v1/agents', { name: `full-${n}`, instructions: PAYLOAD }),
        key: (n) => send('/v1/keys', { name: `${n} ${PAYLOAD}`.slice(0, 200), role: 'viewer' }),
        webhook: (n) => send('/v1/webhooks', { url: `https://example.com/${n}${'a'.repeat(1500)}`, events: ['*'] }),
        memory: (n) =>
          send('/v1/agents/hello/memory', { items: [{ content: n + PAYLOAD, context: { user_id: 'u' } }] }),
        deployment: (n) => send('/v1/agents/hello/deployments', { environment: 'production', version: `v${n}` }),
        invocation: (n) => send('/v1/agents/hello/invoke', { message: n + PAYLOAD }),
        'repeatable invocation': (n) =>
          send('/v1/agents/hello/invoke', { message: n + PAYLOAD }, { 'Idempotency-Key': `full-${n}` }),
      }

      await limitTo(size[0]?.pages ?? 0)
      for (const write of Object.values(writes)) {
        // One at a time until the file is full for this kind of write, then several at once, of which one might still fit.
        let replies = [await write('0')]
        for (let i = 1; isWritten(replies[0]); i++) replies = [await write(`${i}`)]
        replies.push(...(await Promise.all(['x', 'y', 'z'].map(write))))
        for (const reply of replies.filter((each) => !isWritten(each))) {
          assertRefusal(reply, 503, 'unavailable', { retry_after: 1 })
        }
        assert.equal((await service.call('GET', '/v1/agents/hello')).status, 200)
      }
      assert.equal((await service.call('GET', '/healthz')).status, 200)

      await limitTo(1_000_000)
      for (const [kind, write] of Object.entries(writes)) {
        const replies = await Promise.all(['a', 'b', 'c'].map(write))
        for (const reply of replies) assert.ok(isWritten(reply), `${kind}: ${reply.text}`)
      }
      const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(db)
      assert.deepEqual(rows, [{ integrity_check: 'ok' }])
    }))
})

async function withEmpty(engine: Engine, story: (open: () => ReturnType<typeof openStorage>) => Promise<void>) {
  const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
  const database = engine === 'postgres' ? await testPostgres() : undefined
  try {
    await story(() => openStorage({ data, database: { url: database?.url, poolSize: 2 } }))
  } finally {
    await database?.drop()
    await rm(data, { recursive: true })
  }
}

/** A statement in a process of its own, which holds what it has until it is told to end. */
function elsewhere({ data }: Service, statement: string) {
  const program = `
    const { DatabaseSync } = require('node:sqlite')
    const other = new DatabaseSync(process.argv[1], { timeout: 5000 })
    other.exec(process.argv[2])
    process.stdin.on('end', () => other.close()).resume()`
  const args = ['-e', program, join(data, 'moorage.db'), statement]
  const child = startChild(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] })
  const ended = once(child, 'exit')
  return async () => {
    child.stdin.end()
    assert.deepEqual(await ended, [0, null])
  }
}

function isLocked({ data }: Service): boolean {
  const probe = new DatabaseSync(join(data, 'moorage.db'))
  try {
    probe.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  } finally {
    probe.close()
  }
}
