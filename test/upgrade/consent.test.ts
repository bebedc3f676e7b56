import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { isAllowed } from '../../src/storage/schema/consent.ts'
import { newShell } from '../support/clients/cli.ts'
import { databaseUrl, partsOf, stopApp, storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { ENGINES, type Service, startService } from '../support/service/service.ts'
import { unusedPort } from '../support/stores/daemon.ts'
import { BROKEN, breaks, STRANGER } from './planted.ts'

const MASTER_KEY = { MOORAGE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }
const NEXT = { version: '9.0.0', commit: null }

async function namesIn(db: Database): Promise<string[]> {
  return (await db.selectFrom('migrations').select('name').execute()).map(({ name }) => name)
}

/** A node that serves, and one of the next version on the same database, which breaks the first and has to wait. */
async function startBoth(t: TestContext) {
  const older = await startService('postgres', MASTER_KEY)
  t.after(() => older.stop())
  const url = `http://127.0.0.1:${await unusedPort()}`
  const shared = { ...MASTER_KEY, MOORAGE_INIT_KEY: older.admin, DATABASE_URL: databaseUrl(older) }
  const starting = startService(
    'postgres',
    { ...shared, PORT: new URL(url).port },
    {},
    { migrations: BROKEN, version: NEXT },
  )
  t.after(async () => (await starting).stop())
  const ask = async (path: string) => {
    const response = await fetch(url + path)
    const { status } = response
    return { status, body: (await response.json()) as { reason?: string } }
  }
  const reason = await until('the newer node waits', async () => {
    const { body } = await ask('/readyz?verbose').catch(() => ({ body: {} as { reason?: string } }))
    return body.reason?.includes('moorage upgrade allow') && body.reason
  })
  return { older, starting, ask, reason, shared }
}

describe('a migration that breaks older nodes', () => {
  test('is not allowed by what the operator has allowed for another one', () => {
    const allowed = JSON.stringify(['one', 'two'])
    assert.ok(isAllowed(['one', 'two'], allowed))
    assert.ok(!isAllowed(['two', 'three'], allowed))
    assert.ok(!isAllowed(['one'], undefined))
  })

  test('waits while one serves; once the operator allows it, it runs and the older node ends', async (t) => {
    const { older, starting, ask, reason, shared } = await startBoth(t)
    const node = `${partsOf(older).node} (${partsOf(older).version.version})`
    assert.equal(
      reason,
      `the upgrade stops older nodes that are still serving: ${node}. Stop them, or run \`moorage upgrade allow\``,
    )
    assert.equal((await ask('/healthz')).status, 200)
    assert.equal((await ask('/readyz')).status, 503)
    const before = await namesIn(storeOf(older))
    assert.deepEqual(
      before,
      BROKEN.slice(0, before.length).map(({ name }) => name),
      'not even the others ran',
    )
    const served = await older.call('POST', '/v1/agents/hello/invoke', { body: { message: 'still here' } })
    assert.equal(served.status, 200)

    const shell = newShell()
    t.after(async () => shell.remove())
    const run = (args: string[], migrations = BROKEN) => shell.moorage(args, { env: shared, migrations })
    const asked = await run(['upgrade', 'allow'])
    assert.deepEqual([asked.code, /Pass --yes/.test(asked.stderr)], [2, true], asked.stderr)
    assert.equal((await ask('/readyz')).status, 503)
    const allowed = await run(['upgrade', 'allow', '--yes'])
    assert.equal(allowed.code, 0, allowed.stderr)
    assert.match(allowed.stderr, new RegExp(`Allowed ${breaks.name}`))

    const newer = await starting
    assert.equal((await newer.call('GET', '/v1/agents')).status, 200)
    assert.equal((await storageOf(older).lost).message, STRANGER)
    assert.equal((await older.call('GET', '/readyz')).status, 503)
    const again = await run(['upgrade', 'allow', '--yes'])
    assert.deepEqual([again.code, /Nothing to allow/.test(again.stderr)], [0, true])
  })

  test('waits until the last older node has stopped or was killed', async (t) => {
    const { older, starting } = await startBoth(t)
    // Its row is all that a killed node leaves. It told last some seconds ago.
    const state = { version: '0.1.0', commit: null, runs_live: 0, busy_percent: 0, memory_bytes: 0, started_at: 0 }
    await sql`insert into nodes ${sql.raw(`(node, ${Object.keys(state).join(', ').replace('commit', '"commit"')}, seen_at)`)}
      values ('service:killed', ${sql.join(Object.values(state))}, extract(epoch from clock_timestamp()) * 1000 - 3000)`.execute(
      storeOf(older),
    )
    let isUp = false
    const up = starting.then(() => {
      isUp = true
    })
    const url = databaseUrl(older)
    await stopApp(older)
    assert.equal(isUp, false, 'the killed node may serve')
    await up
    const storage = await openStorage({ data: '', database: { url, poolSize: 1 }, migrations: BROKEN })
    t.after(() => storage.close())
    assert.equal((await namesIn(storage.db)).at(-1), breaks.name)
  })

  for (const engine of ENGINES) {
    test(`is not run by the command line beside a running service on ${engine}`, async (t) => {
      const service: Service = await startService(engine, MASTER_KEY)
      t.after(() => service.stop())
      const shell = newShell()
      t.after(async () => shell.remove())
      const env = { ...MASTER_KEY, MOORAGE_DATA: service.data, DATABASE_URL: databaseUrl(service) }
      const args = ['keys', 'list', '--local', '--json']
      const refused = await shell.moorage(args, { env, migrations: BROKEN })
      const told =
        engine === 'postgres' ? /stops older nodes that are still serving/ : /would break the service that is running/
      assert.deepEqual([refused.code, told.test(refused.stderr)], [1, true], refused.stderr)
      assert.equal((await service.call('GET', '/v1/agents')).status, 200)

      await stopApp(service)
      const done = await shell.moorage(args, { env, migrations: BROKEN })
      assert.equal(done.code, 0, done.stderr)
    })
  }
})
