import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLog } from '../../../src/lib/log.ts'
import { openStorage } from '../../../src/storage/open-storage.ts'
import { CONSENT } from '../../../src/storage/schema/consent.ts'
import { migrate } from '../../../src/storage/schema/migrate.ts'
import type { Migration } from '../../../src/storage/schema/migration.ts'
import { MigrationWatch } from '../../../src/storage/schema/migration-watch.ts'
import { MIGRATIONS } from '../../../src/storage/schema/released-migrations.ts'
import { touch } from '../../../src/storage/stored-settings.ts'
import { partsOf, storageOf } from '../../support/inside.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { betweenNodes, ENGINES, onEveryEngine, startService } from '../../support/service/service.ts'
import { unusedPort } from '../../support/stores/daemon.ts'

/** A migration that stands still in the middle until it is let go. */
function slowMigration() {
  const reached = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const migration: Migration = {
    name: 'agents-have-notes',
    async run({ schema }, _engine, tellRows) {
      await schema.alterTable('agents').addColumn('notes', 'text').execute()
      tellRows(300, 1000)
      reached.resolve()
      await go.promise
    },
  }
  return { migration, reached: reached.promise, go: go.resolve }
}

function keptLog() {
  let text = ''
  const write = (line: string) => {
    text += line
  }
  const lines = () =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line): Record<string, unknown> => JSON.parse(line))
  return { log: createLog({ level: 'info', format: 'json' }, { write }), lines }
}

async function ask(url: string) {
  const response = await fetch(url)
  const { status, headers } = response
  return { status, headers, body: (await response.json()) as Record<string, unknown> }
}

const DOING = 'the database is being migrated: agents-have-notes, step 1 of 1, 300 of 1000 rows'

for (const engine of ENGINES) {
  describe(`a service whose database is being migrated on ${engine}`, () => {
    test('lives, is not ready, says how far it is, and serves as soon as it is done', async () => {
      const slow = slowMigration()
      const { log, lines } = keptLog()
      const url = `http://127.0.0.1:${await unusedPort()}`
      const starting = startService(
        engine,
        { PORT: new URL(url).port },
        {},
        { log, migrations: [...MIGRATIONS, slow.migration], watch: new MigrationWatch(log, 20) },
      )
      // Asked without a pause from before the end to after it: no check finds the door shut.
      const statuses = { '/healthz': new Set<number>(), '/readyz': new Set<number>() }
      let over = false
      const checks: Promise<void>[] = []
      try {
        await slow.reached
        const { status, body } = await ask(`${url}/healthz`)
        assert.deepEqual({ status, body }, { status: 200, body: { status: 'ok' } })
        const ready = await ask(`${url}/readyz?verbose`)
        assert.equal(ready.status, 503)
        assert.equal(ready.headers.get('connection'), 'close')
        assert.deepEqual(ready.body, {
          status: 'not_ready',
          reason: DOING,
          migration: { name: 'agents-have-notes', step: 1, steps: 1, rows_done: 300, rows: 1000 },
        })
        const refused = await ask(`${url}/v1/agents`)
        assert.equal(refused.status, 503)
        assert.equal(refused.headers.get('retry-after'), '5')
        const { request_id, ...rest } = refused.body
        assert.match(String(request_id), /^req_/)
        assert.deepEqual(rest, {
          success: false,
          error: { code: 'unavailable', message: `Not ready: ${DOING}`, retry_after: 5 },
        })

        const goesOn = () => lines().filter(({ msg }) => msg === 'the database migration continues')
        await until('the log has told twice that it goes on', () => goesOn().length >= 2)
        assert.partialDeepStrictEqual(goesOn().at(-1), { migration: 'agents-have-notes', rows_done: 300, rows: 1000 })
        for (const path of ['/healthz', '/readyz'] as const) {
          checks.push(
            (async () => {
              while (!over) statuses[path].add((await ask(url + path)).status)
            })(),
          )
        }
        await until('they are under way', () => statuses['/readyz'].has(503))
        slow.go()
        await until('it is ready', () => statuses['/readyz'].has(200))
        assert.equal((await (await starting).call('GET', '/v1/agents')).status, 200)
      } finally {
        slow.go()
        over = true
        await Promise.all(checks)
        await (await starting).stop()
      }
      assert.deepEqual(statuses, { '/healthz': new Set([200]), '/readyz': new Set([503, 200]) })
      const told = lines().filter(({ migration }) => migration === 'agents-have-notes')
      const messages = told.map(({ msg }) => msg).filter((msg) => msg !== 'the database migration continues')
      assert.deepEqual(messages, ['migrating the database', 'the database migration is complete'])
      assert.equal(told.at(-1)?.['msg'], 'the database migration is complete')
    })
  })
}

const breaks: Migration = { name: 'agents-were-moved', breaks: true, async run() {} }
const STRANGER =
  'the database was changed by a newer version of Moorage ("agents-were-moved"). Start that version, or restore a backup'

onEveryEngine('a service that a newer program breaks', (service) => {
  test('continues after a migration that only adds, and is not ready after one that breaks it', async () => {
    const node = service()
    const { data } = node
    const { database } = partsOf(node).config
    const adds: Migration = { name: 'nothing', async run() {} }
    await (await openStorage({ data, database, migrations: [...MIGRATIONS, adds] })).close()
    assert.equal((await service().call('GET', '/readyz')).status, 200)

    await touch(storageOf(node).db, CONSENT, JSON.stringify([breaks.name]))
    await (await openStorage({ data, database, migrations: [...MIGRATIONS, adds, breaks] })).close()
    assert.equal((await storageOf(node).lost).message, STRANGER)
    const { status, body } = await service().call('GET', '/readyz')
    assert.deepEqual({ status, body }, { status: 503, body: { status: 'not_ready', reason: STRANGER } })
  })
})

for (const engine of ENGINES) {
  test(`a process that a newer program breaks on ${engine} says so in its log and ends with 1`, async (t) => {
    const service = await startChildService(t, engine)
    await service.inStore(async (db) => {
      await touch(db, CONSENT, JSON.stringify([breaks.name]))
      await migrate(db, engine, [...MIGRATIONS, breaks])
    })
    await until('the process has ended', () => service.output().includes('\nmoorage: '))
    assert.equal(await service.terminate(), 1)
    const line = service
      .output()
      .split('\n')
      .find((each) => each.startsWith('{'))
    const { level, msg, err } = JSON.parse(line ?? '{}')
    assert.deepEqual(
      { level, msg, message: err?.message },
      { level: 'error', msg: 'the database is no longer usable, so this process exits', message: STRANGER },
    )
    assert.ok(service.output().includes(`moorage: ${STRANGER}\n`))
  })
}

onEveryEngine('a node that starts while another one migrates', (service, engine) => {
  betweenNodes(engine)('says that it waits', async () => {
    const slow = slowMigration()
    const migrations = [...MIGRATIONS, slow.migration]
    const node = service()
    const { data } = node
    const { database } = partsOf(node).config
    const first = openStorage({ data, database, migrations })
    await slow.reached
    const { log, lines } = keptLog()
    const watch = new MigrationWatch(log)
    const second = openStorage({ data, database, migrations, watch })
    await until('it waits', () => watch.doing !== undefined)
    assert.equal(watch.doing, 'another node is changing the database; this node waits')
    slow.go()
    for (const storage of await Promise.all([first, second])) await storage.close()
    assert.deepEqual(
      lines().map(({ msg }) => msg),
      ['another node is migrating the database; this node waits'],
    )
    assert.equal(watch.doing, undefined)
  })
})
