import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { type ExportReport, exportProject } from '../../src/transfer/export-project.ts'
import { readTransfer } from '../../src/transfer/transfer-file.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { partsOf, storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { ENGINES, inProject, type Service, startService } from '../support/service/service.ts'
import { uploaded } from '../support/slices/files.ts'
import { exported, imported, onStore } from '../support/slices/transfers.ts'

const HOUR_MS = 3_600_000

for (const engine of ENGINES) {
  describe(`an export from ${engine}`, () => {
    let service: Service
    let shop: Service
    let shell: Shell
    before(async () => {
      service = await startService(engine)
      shell = newShell()
      await service.call('POST', '/v1/projects', { body: { name: 'shop' } })
      shop = inProject(service, 'shop')
      await shop.call('POST', '/v1/agents', { body: { name: 'clerk', model: 'builtin/echo' } })
    })
    after(async () => {
      shell.remove()
      await service.stop()
    })

    /** The text of an export during which something happens, right after the table of files has begun. */
    async function during(happens: () => Promise<void>, wishes = {}): Promise<{ report: ExportReport; path: string }> {
      const path = join(shell.folder, `during-${readdirSync(shell.folder).length}`)
      let text = ''
      let isDone = false
      const write = async (line: string) => {
        text += line
        if (isDone || !line.startsWith('{"table":"files"')) return
        isDone = true
        await happens()
      }
      const report = await exportProject(partsOf(service), { project: 'shop', with: [], ...wishes }, write, () => {})
      writeFileSync(path, text)
      return { report, path }
    }

    test('lists files that were deleted during the export, contains all others, and can be imported', async () => {
      const ids: Record<string, string> = {}
      for (const name of ['a', 'b', 'c']) {
        ids[name] = await uploaded(shop, `the bytes of ${name}`, { type: 'text/plain', query: `?name=${name}.txt` })
      }
      ids['same'] = await uploaded(shop, 'the bytes of a', { type: 'text/plain', query: '?name=same.txt' })
      const gone = [ids['a'], ids['b'], ids['same']]
      const { report, path } = await during(async () => {
        for (const id of gone) assert.equal((await shop.call('DELETE', `/v1/files/${id}`)).status, 200)
        const { db } = storageOf(service)
        await until(
          'their bytes are gone',
          async () => (await db.selectFrom('blobs').select('id').execute()).length === 1,
        )
      })
      const left = report.left_out.find(({ what }) => what === 'files that were deleted during the export')
      assert.equal(left?.count, 3)
      assert.deepEqual(left?.names.toSorted(), gone.toSorted())
      assert.equal(report.tables.find(({ table }) => table === 'files')?.rows, 1)
      const target = await startService(engine)
      try {
        const { project } = await imported(shell, target, path)
        const files = await storeOf(target).selectFrom('files').select(['id', 'project_id']).execute()
        assert.deepEqual(files, [{ id: ids['c'], project_id: project.id }])
        const incoming = await storeOf(target).selectFrom('blobs').select('id').where('state', '<>', 'kept').execute()
        assert.deepEqual(incoming, [])
      } finally {
        await target.stop()
      }
    })

    test('fails if the content of an existing file is missing, unless --allow-missing is given', async () => {
      const id = await uploaded(shop, 'the bytes of d', { type: 'text/plain', query: '?name=d.txt' })
      const db = storeOf(service)
      const { blob_id } = await db.selectFrom('files').select('blob_id').where('id', '=', id).executeTakeFirstOrThrow()
      await db.updateTable('files').set({ size: 4 }).where('id', '=', id).execute()
      await assert.rejects(
        during(async () => {}),
        new RegExp(`The bytes of ${id} are missing or altered.*--allow-missing`),
      )
      const { report } = await during(async () => {}, { allowMissing: true })
      const left = report.left_out.find(({ what }) => what === 'files whose bytes are missing')
      assert.deepEqual(left?.names, [id])
      await db.updateTable('files').set({ size: 14 }).where('blob_id', '=', blob_id).execute()
    })

    test('lists files in the order of their content and ID, however many there are', async () => {
      const db = storeOf(service)
      const file = await db.selectFrom('files').selectAll().where('name', '=', 'd.txt').executeTakeFirstOrThrow()
      const copies = Array.from({ length: 1_203 }, (_, i) => ({
        ...file,
        id: `file_01M7RT0XWD${String(i).padStart(16, '0')}`,
      }))
      for (let start = 0; start < copies.length; start += 100)
        await db
          .insertInto('files')
          .values(copies.slice(start, start + 100))
          .execute()
      const { path } = await during(async () => {})
      const rows: string[] = []
      let blobs = 0
      let columns: string[] = []
      let table = ''
      for await (const said of readTransfer(path)) {
        if (said.kind === 'table') ({ table, columns } = said)
        if (said.kind === 'blob') blobs++
        if (said.kind !== 'row' || table !== 'files') continue
        rows.push(`${said.cells[columns.indexOf('sha256')]} ${said.cells[columns.indexOf('id')]}`)
      }
      assert.equal(rows.length, 1_205)
      assert.equal(blobs, 2)
      assert.deepEqual(rows, rows.toSorted())
      const ids = copies.map(({ id }) => id)
      for (let start = 0; start < ids.length; start += 100)
        await db
          .deleteFrom('files')
          .where('id', 'in', ids.slice(start, start + 100))
          .execute()
    })

    test('lists what stays', async () => {
      const made = async (method: string, path: string, body: object) => {
        const reply = await shop.call(method, path, { body })
        assert.ok(reply.status < 300, `${path}: ${reply.text}`)
        return reply.body.data
      }
      const { id: agent } = await made('POST', '/v1/agents', { name: 'leaver' })
      const of = `/v1/agents/${agent}`
      await made('POST', `${of}/triggers`, { name: 'tide', verify: { scheme: 'none' }, message: '{{/text}}' })
      const link = await made('POST', `${of}/links`, {})
      await made('PUT', `${of}/sets/basics`, { cases: [{ message: 'Hi' }] })
      const replay = await made('POST', `${of}/replays`, { working_copy: true, set: 'basics' })
      await made('POST', `${of}/deployments`, { environment: 'production', version: 'v1' })
      await made('PATCH', of, { instructions: 'Be brief.' })
      const strategy = { steps: [{ percent: 10, minutes: 600 }] }
      const gradual = await made('POST', `${of}/deployments`, { environment: 'production', version: 'v2', strategy })
      await made('PUT', '/v1/connections/calendar', {
        kind: 'oauth2',
        client_id: 'shop',
        hosts: ['api.example.com'],
        authorize_url: 'https://id.example.com/authorize',
        token_url: 'https://id.example.com/token',
      })
      const { left_out } = await exported(shell, service, '--project', 'shop')
      const listed = Object.fromEntries(left_out.map(({ what, count, names }) => [what, [count, names]]))
      assert.deepEqual(listed, {
        links: [1, [link.id]],
        triggers: [1, ['tide']],
        connections: [1, ['calendar']],
        'sets of cases': [1, ['basics']],
        replays: [1, [replay.id]],
        'gradual deployments in progress': [1, [gradual.id]],
      })
      await made('POST', `${of}/deployments/${gradual.id}/abort`, {})
      await made('DELETE', '/v1/connections/calendar', {})
      assert.equal((await shop.call('DELETE', of)).status, 200)
    })

    test("without --seal-to, does not decrypt secrets, and succeeds even if they can't be decrypted", async () => {
      await shop.call('PUT', '/v1/secrets/TOKEN', { body: { value: 'hush-hush', hosts: ['a.example.com'] } })
      const events = ['agent.failed']
      const { body } = await shop.call('POST', '/v1/webhooks', { body: { url: 'https://example.com/hook', events } })
      assert.equal((await shop.call('POST', `/v1/webhooks/${body.data.id}/rotate-secret`, { body: {} })).status, 200)
      const original = await exported(shell, service, '--project', 'shop')
      const db = storeOf(service)
      const secrets = await db.selectFrom('secrets').selectAll().execute()
      await db.updateTable('secrets').set({ value: 'v1.broken' }).execute()
      const { tables, left_out } = await exported(shell, service, '--project', 'shop')
      assert.deepEqual(tables, original.tables)
      assert.deepEqual(left_out.find(({ what }) => what === 'secrets of tools')?.names, ['TOKEN'])
      for (const { name, value } of secrets)
        await db.updateTable('secrets').set({ value }).where('name', '=', name).execute()
    })
  })
}

describe('two exports to the same file', () => {
  let service: Service
  let shell: Shell
  before(async () => {
    service = await startService('postgres')
    shell = newShell()
  })
  after(async () => {
    shell.remove()
    await service.stop()
  })

  /** Runs while no export can end. */
  async function held(work: () => Promise<unknown>): Promise<void> {
    const lock = await storageOf(service).db.startTransaction().execute()
    try {
      await sql`lock table earlier_secrets in access exclusive mode`.execute(lock)
      await work()
    } finally {
      await lock.rollback().execute()
    }
  }
  const drafts = () => readdirSync(shell.folder).filter((name) => name.endsWith('.partial'))

  test('at the same time: one succeeds completely, and the other is refused', async () => {
    const file = join(shell.folder, 'default.moorage')
    const runs: Promise<{ code: number; stderr: string }>[] = []
    await held(async () => {
      for (let i = 0; i < 2; i++) runs.push(onStore(shell, service, 'export', '--project', 'default', '--to', file))
      await until('both have drafts', () => drafts().length === 2)
      assert.equal(existsSync(file), false)
    })
    const ended = await Promise.all(runs)
    assert.deepEqual(ended.map(({ code }) => code).toSorted(), [0, 1], JSON.stringify(ended))
    assert.match(ended.find(({ code }) => code === 1)?.stderr ?? '', /default\.moorage already exists/)
    assert.deepEqual(drafts(), [])
    let last = ''
    for await (const { kind } of readTransfer(file)) last = kind
    assert.equal(last, 'last')
  })

  test('do not overwrite a file that appears meanwhile', async () => {
    const file = join(shell.folder, 'mine.txt')
    let run: Promise<{ code: number; stderr: string }> | undefined
    await held(async () => {
      run = onStore(shell, service, 'export', '--project', 'default', '--to', file)
      await until('it has a draft', () => drafts().length === 1)
      writeFileSync(file, 'mine')
    })
    const { code, stderr } = (await run) ?? { code: 0, stderr: '' }
    assert.equal(code, 1)
    assert.match(stderr, /mine\.txt already exists/)
    assert.equal(readFileSync(file, 'utf8'), 'mine')
    assert.deepEqual(drafts(), [])
  })

  test('delete drafts of dead processes after an hour', async () => {
    const [old, fresh, other] = ['.third.0123.partial', '.third.4567.partial', '.fourth.0123.partial'].map((name) => {
      const path = join(shell.folder, name)
      writeFileSync(path, 'a part')
      return path
    }) as [string, string, string]
    const then = new Date(Date.now() - 2 * HOUR_MS)
    for (const path of [old, other]) utimesSync(path, then, then)
    await exported(shell, service, '--project', 'default', '--to', join(shell.folder, 'third'))
    assert.deepEqual([old, fresh, other].map(existsSync), [false, true, true])
  })
})
