import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { TableDigest } from '../../../src/transfer/transfer-file.ts'
import { newShell, type Shell } from '../../support/clients/cli.ts'
import { storageOf } from '../../support/inside.ts'
import { until } from '../../support/running/until.ts'
import { ENGINES, inProject, type Service, startService } from '../../support/service/service.ts'
import { importAndDie } from '../../support/service/transfer-child.ts'
import { uploaded } from '../../support/slices/files.ts'
import { exported, imported, onStore, ownKeys, storeEnv } from '../../support/slices/transfers.ts'

const MEMORIES = 900
const RUNS = 30
const HOUR_MS = 3_600_000

for (const engine of ENGINES) {
  describe(`an interrupted import into ${engine}`, () => {
    let source: Service
    let target: Service
    let shell: Shell
    let file: string
    let tables: TableDigest[]
    before(async () => {
      source = await startService(engine === 'sqlite' ? 'postgres' : 'sqlite')
      target = await startService(engine)
      shell = newShell()
      file = join(shell.folder, 'shop.moorage')
      await source.call('POST', '/v1/projects', { body: { name: 'shop' } })
      await fill(inProject(source, 'shop'))
      tables = (await exported(shell, source, '--project', 'shop', '--with', 'all', '--to', file)).tables
    })
    after(async () => {
      shell.remove()
      await source.stop()
      await target.stop()
    })

    test('continues where it stopped after kill -9, while the service runs, and the result is equal', async () => {
      const task = { env: storeEnv(target), cwd: shell.folder, path: file, as: 'copy' }
      let deaths = 0
      for (let isCommitted = false; deaths < 100; isCommitted = !isCommitted) {
        if ((await importAndDie({ ...task, diesAt: 6, isCommitted })) === 'ended') break
        deaths++
        const paused = await inProject(target, 'copy').call('GET', '/v1/pause')
        const { reason } = paused.body.data.project
        // The last of them may have died after its last transaction.
        if (reason.startsWith('Imported')) break
        assert.match(reason, /is being imported, and is not complete yet/)
        // Keys come last, so no client works with a part.
        const { length } = await storageOf(target).db.selectFrom('memories').select('id').execute()
        if (length < MEMORIES + 2 * RUNS) assert.deepEqual(await ownKeys(inProject(target, 'copy')), [])
      }
      assert.ok(deaths >= 5, `${deaths} processes died`)
      assert.equal((await imported(shell, target, file)).began, 'done before')
      const again = await exported(shell, target, '--project', 'copy', '--with', 'all')
      const steady = ({ table }: TableDigest) => !table.includes('metric')
      assert.deepEqual(again.tables.filter(steady), tables.filter(steady))
      const counts = ['memories', 'invocations', 'files'].map((table) => find(tables, table).rows)
      assert.deepEqual(counts, [MEMORIES + 2 * RUNS, RUNS, 4])
      const { body } = await inProject(target, 'copy').call('GET', '/v1/agents/clerk/invocations')
      assert.equal(body.pagination.total, RUNS, 'the counts that triggers keep')
    })

    test("loses nothing to the running service's sweeps, even though files are imported before their references", async () => {
      const other = await startService(engine)
      try {
        const { db } = storageOf(other)
        const rowsOf = async (table: 'files' | 'schedule_files') =>
          (await db.selectFrom(table).selectAll().execute()).length
        const task = { env: storeEnv(other), cwd: shell.folder, path: file, as: 'swept', isCommitted: true }
        assert.equal(await importAndDie({ ...task, diesAt: { table: 'files', rows: 4 } }), 'died')
        assert.deepEqual([await rowsOf('files'), await rowsOf('schedule_files')], [4, 0])
        await sweepAll(other)
        assert.equal((await imported(shell, other, file)).began, 'resumed')
        assert.deepEqual([await rowsOf('files'), await rowsOf('schedule_files')], [4, 1])
      } finally {
        await other.stop()
      }
    })

    test("can't be resumed by a request, and starts again immediately if its project was deleted", async () => {
      const other = await startService(engine)
      try {
        const task = { env: storeEnv(other), cwd: shell.folder, path: file, as: 'half', isCommitted: true }
        assert.equal(await importAndDie({ ...task, diesAt: 9 }), 'died')
        const resumed = await inProject(other, 'half').call('POST', '/v1/resume', { body: {} })
        assert.equal(resumed.status, 409)
        assert.equal((await other.call('DELETE', '/v1/projects/half?name=half')).status, 200)
        assert.equal((await imported(shell, other, file)).began, 'new')
      } finally {
        await other.stop()
      }
    })

    test("can't be run by two processes at the same time", async () => {
      const other = await startService(engine)
      try {
        const runs = await Promise.all([1, 2].map(() => onStore(shell, other, 'import', file, '--as', 'twice')))
        assert.ok(runs.some(({ code }) => code === 0) || runs.every(({ code }) => code === 1), 'at most one does it')
        for (const { code, stderr } of runs)
          if (code !== 0) assert.match(stderr, /Another process|already exists|already has/)
        await imported(shell, other, file)
        const again = await exported(shell, other, '--project', 'twice', '--with', 'receipts,logs')
        for (const { table, rows, sha256 } of again.tables) {
          assert.deepEqual({ rows, sha256 }, find(tables, table), table)
        }
      } finally {
        await other.stop()
      }
    })
  })
}

describe('an export that is interrupted', () => {
  test('leaves no file of its name and no draft', async () => {
    const service = await startService('sqlite')
    const shell = newShell()
    try {
      const file = join(shell.folder, 'default.moorage')
      const stop = new AbortController()
      stop.abort()
      const ended = await shell.moorage(['export', '--project', 'default', '--to', file], {
        env: storeEnv(service),
        stop: stop.signal,
      })
      const left = readdirSync(shell.folder)
      if (ended.code !== 0) assert.deepEqual(left, [])
      const { tables } = await exported(shell, service, '--project', 'default', '--to', `${file}.2`)
      assert.ok(existsSync(`${file}.2`))
      assert.ok(tables.some(({ table, rows }) => table === 'agents' && rows === 1))
      const again = await onStore(shell, service, 'export', '--project', 'default', '--to', `${file}.2`)
      assert.match(again.stderr, /already exists/)
    } finally {
      shell.remove()
      await service.stop()
    }
  })
})

function find(tables: TableDigest[], name: string) {
  const { rows, sha256 } = tables.find(({ table }) => table === name) ?? { rows: 0, sha256: '' }
  return { rows, sha256 }
}

/** The hourly job that removes what is old, or belongs to nothing. */
async function sweepAll(service: Service): Promise<void> {
  const { db } = storageOf(service)
  const job = () => db.selectFrom('jobs').selectAll().where('kind', '=', 'retention').executeTakeFirst()
  const due = (await job())?.run_at ?? 0
  service.advance(HOUR_MS + 1_000)
  await until('the sweep has ended', async () => {
    const { owner, run_at } = (await job()) ?? {}
    return owner === null && (run_at ?? 0) > due
  })
}

async function fill(service: Service): Promise<void> {
  const send = async (method: string, path: string, body: object) => {
    const reply = await service.call(method, path, { body })
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
    return reply.body.data
  }
  await send('POST', '/v1/agents', { name: 'clerk', model: 'builtin/recall' })
  await send('POST', '/v1/keys', { name: 'clerk', role: 'caller' })
  for (let start = 0; start < MEMORIES; start += 100) {
    const items = Array.from({ length: 100 }, (_, i) => ({
      content: `Order ${start + i} of user ${i % 7} is for ${i} ropes`,
      kind: 'note',
      context: { user_id: `user-${i % 7}` },
    }))
    await send('POST', '/v1/agents/clerk/memory', { items })
  }
  const attached = { data: Buffer.from('Read me').toString('base64'), media_type: 'text/plain', name: 'read.txt' }
  await send('POST', '/v1/agents/clerk/schedules', { every: '1h', message: 'Look', attachments: [attached] })
  for (let i = 0; i < RUNS; i++) {
    await send('POST', '/v1/agents/clerk/invoke', {
      message: `Order ${i}?`,
      context: { user_id: 'user-1', session_id: 'one' },
    })
  }
  for (const [text, name] of [
    ['the same', 'a.txt'],
    ['the same', 'b.txt'],
    ['x'.repeat(700_000), 'long.txt'],
  ]) {
    await uploaded(service, text ?? '', { type: 'text/plain', query: `?name=${name}` })
  }
}
