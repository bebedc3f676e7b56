import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { Client } from 'pg'
import { compareVersions } from '../../src/lib/version.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Migration } from '../../src/storage/schema/migration.ts'
import { firstRelease, MIGRATIONS } from '../../src/storage/schema/released-migrations.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { ENGINES, type Engine } from '../support/service/service.ts'
import { testPostgres } from '../support/stores/postgres.ts'
import { type PlacedStore, placeFixture } from './fixture.ts'
import { ADDED, addsColumn, addsIndex, BROKEN, breaks, rewrites, STRANGER } from './planted.ts'
import { dumpPostgres } from './postgres-dump.ts'

const [RELEASE] = ['0.1.0'] as const
const CURRENT = MIGRATIONS.at(-1)?.name ?? ''
const UNRELEASED = /older than the first release of Moorage/

/** A placed store, and how to change it behind the back of every service. */
type Checked = {
  placed: PlacedStore
  shell: Shell
  check(migrations?: readonly Migration[], args?: string[]): ReturnType<Shell['moorage']>
  change(sql: string): Promise<void>
  /** All that is stored. */
  content(): Promise<string>
}

/** A store of a release, or one that this version has opened since. */
async function place(t: TestContext, engine: Engine, { isUpgraded = true } = {}): Promise<Checked> {
  const placed = await placeFixture(RELEASE, engine)
  t.after(() => placed.remove())
  if (isUpgraded) await placed.start().then((service) => service.stop())
  const shell = newShell()
  t.after(async () => shell.remove())
  const { MOORAGE_DATA: data = '', DATABASE_URL: url = '' } = placed.settings
  const env = placed.settings
  return {
    placed,
    shell,
    check: (migrations, args = ['--json']) =>
      shell.moorage(['upgrade', 'check', ...args], { env, ...(migrations && { migrations }) }),
    async change(sql) {
      if (url) return withClient(url, sql)
      const connection = new DatabaseSync(join(data, 'moorage.db'))
      connection.exec(sql)
      connection.close()
    },
    async content() {
      if (url) return dumpPostgres(url, CURRENT)
      const files = readdirSync(data).toSorted()
      return JSON.stringify(files.map((file) => [file, digestOf(join(data, file))]))
    },
  }
}

async function withClient(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

function digestOf(path: string): string {
  try {
    return hash('sha256', readFileSync(path))
  } catch {
    return 'a folder'
  }
}

for (const engine of ENGINES) {
  describe(`moorage upgrade check on ${engine}`, () => {
    test('says that there is nothing to migrate, and changes nothing', async (t) => {
      const { check, content } = await place(t, engine)
      const before = await content()
      const { code, stdout, stderr } = await check()
      assert.equal(code, 0, stderr)
      const { engine: told, schema, status, migrations, unknown, serving, needed_bytes, version } = JSON.parse(stdout)
      assert.match(told, engine === 'sqlite' ? /^SQLite 3\./ : /^PostgreSQL \d/)
      assert.match(version, /^\d+\./)
      assert.deepEqual(schema, { current: CURRENT, wanted: CURRENT, supported_from: firstRelease.name })
      const nothing = { status: 'current', migrations: [], unknown: [], serving: [], needed_bytes: 0 }
      assert.deepEqual({ status, migrations, unknown, serving, needed_bytes }, nothing)
      assert.match(
        (await check(undefined, [])).stderr,
        /The database is up to date\. This version runs no migrations\./,
      )
      assert.equal(await content(), before)
    })

    test('lists migrations with rows, disk space and time before they run', async (t) => {
      const { placed, check, content } = await place(t, engine)
      const before = await content()
      const { code, stdout, stderr } = await check(BROKEN)
      assert.equal(code, 0, stderr)
      const { status, migrations, schema, needed_bytes } = JSON.parse(stdout)
      assert.deepEqual([status, schema.wanted], ['ready', breaks.name])
      // oxlint-disable-next-line typescript/no-explicit-any
      const [column, index, rewritten, broken]: any[] = migrations
      const none = { breaks: false, tables: [], rows: 0, bytes: 0, seconds: 0 }
      assert.deepEqual(column, { ...none, name: addsColumn.name })
      assert.deepEqual(broken, { ...none, name: breaks.name, breaks: true })
      assert.deepEqual([index.name, index.tables, index.seconds], [addsIndex.name, ['invocations'], 1])
      assert.deepEqual([rewritten.name, rewritten.tables], [rewrites.name, ['logs', 'agents']])
      assert.ok(
        index.rows > 10 && index.bytes === (engine === 'sqlite' ? 120 : 250) * index.rows,
        JSON.stringify(index),
      )
      assert.ok(rewritten.rows > 10 && rewritten.bytes >= 4 * 4096, JSON.stringify(rewritten))
      assert.equal(needed_bytes, index.bytes + rewritten.bytes)
      const text = await check(ADDED, [])
      assert.match(text.stdout, /9003-logs-say-more +no +logs, agents +\d+ +1 MiB +about a second/)
      assert.match(text.stderr, /this version runs 3 migrations, which takes about 2 s\./)
      const last = await check(BROKEN, [])
      assert.match(last.stderr, /Older versions can't use the database afterwards\./)
      assert.equal(await content(), before)
      // The start does what the check has announced.
      const service = await placed.start({}, { migrations: BROKEN })
      await service.stop()
      assert.equal(JSON.parse((await check(BROKEN)).stdout).status, 'current')
    })

    test('works while a service uses the database, and lists the nodes that serve', async (t) => {
      const { placed, check } = await place(t, engine)
      const service = await placed.start({}, { now: Date.now, version: { version: '0.0.9', commit: 'abc' } })
      t.after(() => service.stop())
      const { code, stdout, stderr } = await check(ADDED)
      assert.equal(code, 0, stderr)
      const { status, serving } = JSON.parse(stdout)
      assert.equal(status, 'ready')
      const told = serving.map(({ version, commit, compared }: Record<string, unknown>) => ({
        version,
        commit,
        compared,
      }))
      const known = { version: '0.0.9', commit: 'abc', compared: 'older' }
      const unknown = { version: null, commit: null, compared: 'unknown' }
      // A dead node reports nothing: only nodes that reported recently count as serving.
      assert.deepEqual(told, [engine === 'postgres' ? known : unknown])
      assert.match((await check(ADDED, [])).stderr, /Nodes that are serving keep working\./)

      const waits = await check(BROKEN)
      assert.equal(waits.code, 8, waits.stderr)
      assert.equal(JSON.parse(waits.stdout).status, 'waiting')
      const error =
        engine === 'postgres'
          ? /This version would wait, because the upgrade stops 1 older node\./
          : /Stop it before you start/
      assert.match(waits.stderr, error)
      assert.equal((await service.call('GET', '/v1/agents')).status, 200)
    })

    test("distinguishes newer databases that this version can use from those that it can't", async (t) => {
      const { check, change } = await place(t, engine)
      await change("insert into migrations values ('9009-later', 0, 9e12)")
      const newer = await check()
      assert.equal(newer.code, 0, newer.stderr)
      const { status, unknown, schema } = JSON.parse(newer.stdout)
      assert.deepEqual([status, unknown, schema.current], ['current', ['9009-later'], '9009-later'])
      assert.match(
        (await check(undefined, [])).stderr,
        /A newer version has changed the database \(9009-later\), and this/,
      )

      await change(`insert into migrations values ('${breaks.name}', 1, 9e12)`)
      const broken = await check()
      assert.equal(broken.code, 1)
      assert.equal(JSON.parse(broken.stderr.trim()).error.message, STRANGER)
    })

    test('says that a database is unreleased, damaged, empty or missing', async (t) => {
      const { check, change, placed, shell } = await place(t, engine)
      await change('create table schema_version (version integer)')
      const oldest = await check()
      assert.deepEqual([oldest.code, UNRELEASED.test(oldest.stderr)], [1, true])
      await change("drop table schema_version; insert into migrations values ('first-schema-1234', 0, 0)")
      const old = await check()
      assert.deepEqual([old.code, UNRELEASED.test(old.stderr)], [1, true])
      await change('drop table migrations')
      const damaged = await check()
      assert.deepEqual([damaged.code, /is damaged/.test(damaged.stderr)], [1, true], damaged.stderr)

      const run = (env: Record<string, string>) =>
        shell.moorage(['upgrade', 'check', '--json'], { env: { ...placed.settings, ...env } })
      if (engine === 'postgres') {
        const empty = await testPostgres()
        t.after(() => empty.drop())
        const first = await run({ DATABASE_URL: empty.url })
        assert.deepEqual([first.code, JSON.parse(first.stdout).status], [0, 'new'])
        const away = await run({ DATABASE_URL: 'postgresql://postgres@127.0.0.1:2/none' })
        assert.deepEqual([away.code, /PostgreSQL can't be reached/.test(away.stderr)], [7, true], away.stderr)
        return
      }
      const file = join(placed.settings['MOORAGE_DATA'] as string, 'moorage.db')
      const bytes = readFileSync(file)
      writeFileSync(file, Buffer.concat([bytes.subarray(0, 8192), bytes.subarray(8192).map((byte) => byte ^ 0x55)]))
      const broken = await check()
      assert.deepEqual([broken.code, /moorage\.db is damaged/.test(broken.stderr)], [1, true], broken.stderr)
      rmSync(file)
      assert.equal((await check()).code, 3)
    })
  })
}

test('a migration lists every table whose rows it reads or writes', async (t) => {
  assert.deepEqual(await untold(t, MIGRATIONS.slice(1)), [])
  assert.deepEqual(await untold(t, [addsColumn, addsIndex, rewrites]), [])
  const silent = [addsIndex, rewrites].map(({ name, run }) => ({ name, run }))
  assert.deepEqual(await untold(t, silent), [
    `${addsIndex.name} reads invocations`,
    `${rewrites.name} writes agents`,
    `${rewrites.name} writes logs`,
  ])
})

/** What PostgreSQL shows of the work of migrations, and they do not tell: rows written, files rewritten, indexes built. */
async function untold(t: TestContext, migrations: readonly Migration[]): Promise<string[]> {
  const found: string[] = []
  const { placed } = await place(t, 'postgres', { isUpgraded: false })
  const url = placed.settings['DATABASE_URL'] as string
  const tracesAfter = async (count: number) => {
    const wanted = [...MIGRATIONS.slice(0, 1), ...migrations.slice(0, count)]
    const storage = await openStorage({ data: '', database: { url, poolSize: 1 }, migrations: wanted })
    await storage.close()
    return tracesOf(url)
  }
  let before = await tracesAfter(0)
  for (const [i, migration] of migrations.entries()) {
    const after = await tracesAfter(i + 1)
    for (const [table, { file, rows, indexes }] of before) {
      const now = after.get(table)
      const told = migration.touches?.[table]
      const wrote = now && table !== 'migrations' && (now.file !== file || now.rows !== rows)
      if (wrote && told !== 'write') found.push(`${migration.name} writes ${table}`)
      else if (now && now.indexes > indexes && !told) found.push(`${migration.name} reads ${table}`)
    }
    before = after
  }
  return found
}

type Trace = { file: string; rows: string; indexes: number }

async function tracesOf(url: string): Promise<Map<string, Trace>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: tables } = await client.query(
      `select relname as name, pg_relation_filenode(oid) as file,
        (select count(*)::int from pg_index where indrelid = c.oid) as indexes
        from pg_class c where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
    )
    const traces = new Map<string, Trace>()
    for (const { name, file, indexes } of tables) {
      const { rows } = await client.query(
        `select md5(coalesce(string_agg(xmin::text, ',' order by ctid), '')) as rows from ${name}`,
      )
      traces.set(name, { file: String(file), rows: rows[0].rows, indexes })
    }
    return traces
  } finally {
    await client.end()
  }
}

test('versions are compared by their numbers', () => {
  const sorted = ['0.0.9', '0.1.0-rc.2', '0.1.0-rc.10', '0.1.0', '0.2.0', '0.10.0', '1.0.0']
  assert.deepEqual(sorted.toReversed().toSorted(compareVersions), sorted)
  assert.equal(compareVersions('1.0.0', '1.0.0'), 0)
})
