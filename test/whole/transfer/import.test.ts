import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { importProject } from '../../../src/transfer/import-project.ts'
import { newShell, type Shell } from '../../support/clients/cli.ts'
import { partsOf, storageOf, storeOf } from '../../support/inside.ts'
import { alterStore } from '../../support/invariants/watch-invariants.ts'
import { inProject, onBothEngines, type Service, startService } from '../../support/service/service.ts'
import { importAndDie } from '../../support/service/transfer-child.ts'
import { uploaded } from '../../support/slices/files.ts'
import {
  exported,
  forgeRows,
  imported,
  type Line,
  onStore,
  ownKeys,
  recipientOf,
  storeEnv,
} from '../../support/slices/transfers.ts'

onBothEngines('a verified import', (service, engine) => {
  let source: Service
  let shop: Service
  let shell: Shell
  let file: string
  let sealed: string
  before(async () => {
    source = await startService('sqlite')
    shop = inProject(source, 'shop')
    shell = newShell()
    file = join(shell.folder, 'shop.moorage')
    sealed = join(shell.folder, 'sealed.moorage')
    await source.call('POST', '/v1/projects', { body: { name: 'shop' } })
    await fill(shop)
    await exported(shell, source, '--project', 'shop', '--with', 'all', '--to', file)
    const recipient = await recipientOf(shell, service())
    await exported(shell, source, '--project', 'shop', '--with', 'all', '--seal-to', recipient, '--to', sealed)
  })
  after(async () => {
    shell.remove()
    await source.stop()
  })

  const db = () => storeOf(service())
  const ledger = () => db().selectFrom('ledger').selectAll().orderBy('id').execute()
  const calls = async () => {
    const rows = await db().selectFrom('usage_sums').select(['hours', 'calls']).execute()
    return rows.filter(({ hours }) => hours < 24).reduce((sum, row) => sum + row.calls, 0)
  }
  const die = async (
    path: string,
    as: string,
    diesAt: Parameters<typeof importAndDie>[0]['diesAt'],
    node = service(),
  ) => {
    const task = { env: storeEnv(node), cwd: shell.folder, path, as, diesAt, isCommitted: true }
    assert.equal(await importAndDie(task), 'died')
  }
  const discard = (name: string) => onStore(shell, service(), 'import', '--discard', name)
  const remove = async (name: string) => {
    assert.equal((await service().call('DELETE', `/v1/projects/${name}?name=${name}`)).status, 200)
  }

  test('reports the rows in the target, and that they are equal', async () => {
    const { tables, differences } = await imported(shell, service(), sealed, '--as', 'equal')
    const again = await exported(shell, service(), '--project', 'equal', '--with', 'all')
    const steady = ({ table }: { table: string }) => !table.includes('metric')
    assert.deepEqual(tables.filter(steady), again.tables.filter(steady))
    assert.deepEqual(differences, [])
    await remove('equal')
  })

  test('says which tables differ if rows were changed during the import, and exits with 1', async () => {
    await die(file, 'changed', { table: 'memory_scopes', rows: 1 })
    const { seq } = await db()
      .selectFrom('agents')
      .innerJoin('projects', 'projects.id', 'agents.project_id')
      .select('agents.seq')
      .where('projects.name', '=', 'changed')
      .executeTakeFirstOrThrow()
    alterStore(db())
    const notes = db().selectFrom('memories').select('memories.seq').where('agent_seq', '=', seq)
    const gone = await notes.where('kind', '=', 'note').executeTakeFirstOrThrow()
    await db().deleteFrom('memories').where('seq', '=', gone.seq).execute()
    await db().updateTable('agents').set({ description: 'Another' }).where('seq', '=', seq).execute()
    const { code, stdout, stderr } = await onStore(shell, service(), 'import', file, '--json')
    assert.equal(code, 1, stderr)
    assert.match(
      stderr,
      /was not equal to its file.*agents \(1 in the file, 1 here\), memories \(\d+ in the file, \d+ here\)/,
    )
    const report = JSON.parse(stdout)
    assert.deepEqual(
      report.differences.map(({ table }: { table: string }) => table),
      ['agents', 'memories'],
    )
    const [, memories] = report.differences
    assert.equal(memories.here, memories.in_file - 1)
    const again = await onStore(shell, service(), 'import', file, '--json')
    assert.equal(again.code, 1, 'it says so every time')
    await remove('changed')
  })

  test('keeps its choice of secrets: another choice is refused, and the report names the first one', async () => {
    await die(sealed, 'mixed', 3)
    const other = await onStore(shell, service(), 'import', sealed, '--skip-secrets')
    assert.equal(other.code, 1)
    assert.match(other.stderr, /began with the secrets. Continue it without --skip-secrets, or .*--discard mixed/)
    assert.equal((await imported(shell, service(), sealed)).secrets, 'imported')
    await remove('mixed')
    const { secrets, without_secrets, differences } = await imported(
      shell,
      service(),
      sealed,
      '--as',
      'bare',
      '--skip-secrets',
    )
    assert.deepEqual({ secrets, differences }, { secrets: 'left out', differences: [] })
    const again = await imported(shell, service(), sealed)
    assert.deepEqual([again.began, again.secrets, again.without_secrets], ['done before', 'left out', without_secrets])
    await remove('bare')
  })

  test('can be discarded when unfinished, even from the default project, and then starts again', async () => {
    const fresh = await startService(engine)
    try {
      const { db: store } = storageOf(fresh)
      const [sample] = (await fresh.call('GET', '/v1/agents')).body.data
      await fresh.call('POST', `/v1/agents/${sample.id}/invoke`, { body: { message: 'Spent here' } })
      const spent = await store.selectFrom('usage_sums').selectAll().execute()
      await fresh.call('DELETE', `/v1/agents/${sample.id}`)
      await die(file, 'default', { table: 'ledger', rows: RUNS }, fresh)
      const resumed = await fresh.call('POST', '/v1/resume', { body: {} })
      assert.equal(resumed.status, 409, 'nothing runs in it')
      assert.match(resumed.body.error.message, /isn't complete.*moorage import --discard/)
      const later = join(shell.folder, `later-${engine}.moorage`)
      await exported(shell, source, '--project', 'shop', '--with', 'all', '--to', later)
      const refused = await onStore(shell, fresh, 'import', later, '--as', 'default')
      assert.match(refused.stderr, /import of another file into "default" is not complete.*--discard default/)
      const removed = await onStore(shell, fresh, 'import', '--discard', 'default')
      assert.equal(removed.code, 0, removed.stderr)
      assert.deepEqual(await store.selectFrom('usage_sums').selectAll().execute(), spent)
      assert.equal((await fresh.call('GET', '/v1/pause')).body.data.paused, false)
      const { began, differences } = await imported(shell, fresh, later, '--as', 'default')
      assert.deepEqual([began, differences], ['new', []])
      const sums = await store.selectFrom('usage_sums').select('calls').where('hours', '=', 0).execute()
      assert.equal(
        sums.reduce((sum, row) => sum + row.calls, 0),
        RUNS + spent.reduce((sum, row) => sum + row.calls, 0),
      )
      const owners = await store.selectFrom('ledger').select('project_id').distinct().execute()
      assert.deepEqual(owners, [{ project_id: 'prj_default' }])
      const nothing = await onStore(shell, fresh, 'import', '--discard', 'default')
      assert.match(nothing.stderr, /No import into "default" is incomplete/)
    } finally {
      await fresh.stop()
    }
  })

  test('can be repeated immediately if its project was deleted partway, and its usage is counted once', async () => {
    const fresh = await startService(engine)
    try {
      const { db: store } = storageOf(fresh)
      await die(file, 'half', { table: 'ledger', rows: 1 }, fresh)
      assert.equal((await fresh.call('DELETE', '/v1/projects/half?name=half')).status, 200)
      const { began, differences, known_calls } = await imported(shell, fresh, file, '--as', 'half')
      assert.deepEqual({ began, differences, known_calls }, { began: 'new', differences: [], known_calls: 0 })
      assert.equal((await store.selectFrom('ledger').select('id').execute()).length, RUNS)
      const sums = await store.selectFrom('usage_sums').select('calls').where('hours', '<', 24).execute()
      assert.equal(
        sums.reduce((sum, row) => sum + row.calls, 0),
        RUNS,
      )
    } finally {
      await fresh.stop()
    }
  })

  test("keeps this service's own usage when a deleted project is imported again; changed values are refused", async () => {
    const first = await imported(shell, service(), file, '--as', 'spends')
    assert.equal(first.known_calls, RUNS, 'of the project before, which is gone')
    const spends = inProject(service(), 'spends')
    assert.equal((await spends.call('POST', '/v1/resume', { body: {} })).status, 200)
    await spends.call('POST', '/v1/agents/clerk/invoke', { body: { message: 'Paid here' } })
    await remove('spends')
    const [lines, sum] = [await ledger(), await calls()]
    const { known_calls, differences } = await imported(shell, service(), file, '--as', 'again')
    assert.deepEqual([known_calls, differences], [RUNS, []])
    assert.deepEqual(await ledger(), lines)
    assert.equal(await calls(), sum)
    await remove('again')
    const at = join(shell.folder, 'dearer')
    forgeRows(file, at, 'ledger', (rows) => rows.map((row: Line) => ({ ...row, cost_nano: 1 })))
    const { code, stderr } = await onStore(shell, service(), 'import', at, '--as', 'dearer')
    assert.equal(code, 1)
    assert.match(stderr, /has led_\w+ already, with other values.*--discard dearer/)
    assert.deepEqual(await ledger(), lines)
    assert.equal((await discard('dearer')).code, 0)
    assert.equal((await service().call('GET', '/v1/projects/dearer')).status, 404)
  })

  test('says what to do if it is refused partway', async () => {
    const at = join(shell.folder, 'refused')
    const others = await db().selectFrom('agents').select('id').where('project_id', '=', 'prj_default').execute()
    forgeRows(file, at, 'ledger', (rows) =>
      rows.map((row: Line) => ({ ...row, id: `led_00${String(row['id']).slice(6)}`, agent_id: others[0]?.id })),
    )
    const { stderr } = await onStore(shell, service(), 'import', at, '--as', 'refused')
    assert.match(stderr, /agents of another project.*moorage import --discard refused/)
    assert.deepEqual(await ownKeys(inProject(service(), 'refused')), [])
    assert.equal((await discard('refused')).code, 0)
  })

  test('keeps the project paused even if the pause gets another reason', async () => {
    await die(file, 'held', 4)
    const held = inProject(service(), 'held')
    assert.equal((await held.call('POST', '/v1/pause', { body: { reason: 'Moving' } })).status, 200)
    assert.equal((await held.call('POST', '/v1/resume', { body: {} })).status, 409)
    assert.equal((await imported(shell, service(), file)).began, 'resumed')
    assert.equal((await held.call('POST', '/v1/resume', { body: {} })).status, 200)
    await remove('held')
  })

  test('names providers that the configuration overrides, and webhooks that it refuses', async () => {
    const [at, plain] = [join(shell.folder, 'internal'), join(shell.folder, 'plain')]
    forgeRows(file, plain, 'webhooks', (rows) => rows.map((row: Line) => ({ ...row, url: 'http://169.254.169.254/x' })))
    forgeRows(plain, at, 'providers', (rows) => rows.map((row: Line) => ({ ...row, api_key: null })))
    const fresh = await startService(engine)
    try {
      const configured = [{ name: 'own', type: 'openai', baseUrl: 'https://m.example.com/v1' }]
      const env = { ...storeEnv(fresh), MOORAGE_PROVIDERS: JSON.stringify(configured) }
      const { code, stdout, stderr } = await shell.moorage(['import', at, '--json'], { env })
      assert.equal(code, 0, stderr)
      const { warnings } = JSON.parse(stdout)
      const [webhook] = (await inProject(fresh, 'shop').call('GET', '/v1/webhooks')).body.data
      assert.deepEqual(
        warnings.map(({ names }: { names: string[] }) => names),
        [['own'], [webhook.id]],
      )
    } finally {
      await fresh.stop()
    }
  })

  test('JSON of another shape is refused before anything is visible', async () => {
    const at = join(shell.folder, 'shapes')
    const wrong: [string, Record<string, string>][] = [
      ...['5', '[5]', '[{}]', '{"a":1}'].map((steps): [string, Record<string, string>] => ['invocations', { steps }]),
      ['invocations', { attempts: '5' }],
      ['invocations', { attempts: '[{"number":"a"}]' }],
      ['invocations', { error: '5' }],
      ['invocations', { error: '{"code":"none","message":"x"}' }],
      ['invocations', { attachments: '5' }],
      ['invocations', { attachments: '[{"file_id":5}]' }],
      ['invocations', { context: '[]' }],
      ['invocations', { given: '[]' }],
      ['invocations', { rounds: '[{"calls":5}]' }],
      ['invocations', { tree: '5' }],
      ['invocations', { authors: '{}' }],
      ['invocations', { door: 'x' }],
      ['memories', { metadata: '[1]' }],
      ['logs', { metadata: '"text"' }],
      ['ledger', { price: '7' }],
      ['ledger', { purpose: 'x' }],
      ['ledger', { door: 'x' }],
    ]
    for (const [table, change] of wrong) {
      forgeRows(file, at, table, (rows) => rows.map((row: Line) => ({ ...row, ...change })))
      const [column = ''] = Object.keys(change)
      const imports = importProject(partsOf(service()), { path: at, as: 'harm' }, () => {})
      await assert.rejects(imports, new RegExp(`\\(${table}\\): .*(${column}|another shape)`), JSON.stringify(change))
      assert.equal((await service().call('GET', '/v1/projects/harm')).status, 404)
    }
  })
})

const RUNS = 5

async function fill(service: Service): Promise<void> {
  const send = async (method: string, path: string, body: object) => {
    const reply = await service.call(method, path, { body })
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
  }
  await send('POST', '/v1/agents', { name: 'clerk', model: 'builtin/recall' })
  await send('PUT', '/v1/secrets/FIRST', { value: 'hush-hush-1', hosts: ['a.example.com'] })
  await send('PUT', '/v1/providers/own', { base_url: 'https://models.example.com/v1', api_key: 'hush-hush' })
  await send('POST', '/v1/webhooks', { url: 'https://example.com/hook', events: ['agent.failed'] })
  await send('POST', '/v1/keys', { name: 'own', role: 'admin', all_projects: false })
  const context = { user_id: 'ada', session_id: 'one' }
  await send('POST', '/v1/agents/clerk/memory', { items: [{ content: 'A rope', kind: 'note', context }] })
  await uploaded(service, 'of the shop', { type: 'text/plain', query: '?name=a.txt' })
  for (let i = 0; i < RUNS; i++) await send('POST', '/v1/agents/clerk/invoke', { message: `Hello ${i}`, context })
}
