import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { fillHarbour } from '../support/console/harbour-seed.ts'
import { type HarbourWorld, startHarbourWorld } from '../support/console/harbour-world.ts'
import { stopApp, storeOf } from '../support/inside.ts'
import { type Engine, inProject, type Service, STORY_ENGINES, startService } from '../support/service/service.ts'
import { download, uploaded } from '../support/slices/files.ts'
import { exported, imported, onStore, recipientOf } from '../support/slices/transfers.ts'

const WAYS: { from: Engine; to: Engine }[] = [
  { from: 'sqlite', to: 'postgres' },
  { from: 'postgres', to: 'sqlite' },
]

/** Tables that later versions read and no longer fill. The stored 0.1.0 fixtures have rows of them. */
const ONLY_OF_0_1_0 = ['recent_metrics', 'metric_buckets']

// One way reads one engine and writes the other, so `npm test` moves it once.
for (const { from, to } of WAYS.filter((way) => STORY_ENGINES.includes(way.from))) {
  describe(`moving a project from ${from} to ${to}`, () => {
    let world: HarbourWorld
    let source: Service
    let target: Service
    let shell: Shell
    let file: string
    before(async () => {
      world = await startHarbourWorld()
      const start = (engine: Engine) => startService(engine, world.settings, {}, { now: () => world.clock.now() })
      source = await start(from)
      target = await start(to)
      shell = newShell()
      file = join(shell.folder, 'harbour.moorage')
      await source.call('POST', '/v1/projects', {
        body: { name: 'harbour', description: 'Boats', limits: { concurrent_runs: 7 } },
      })
      await fillHarbour(inProject(source, 'harbour'), world)
      await addWhatIsRare(inProject(source, 'harbour'), shell)
    })
    after(async () => {
      shell.remove()
      await source.stop()
      await target.stop()
      await world.close()
    })

    test('keeps everything under another name: digests and API replies are equal', async () => {
      // A running service rolls up its metrics at times, which changes the rows.
      await stopApp(target)
      const recipient = await recipientOf(shell, target)
      const sealed = ['--project', 'harbour', '--with', 'all', '--seal-to', recipient]
      const original = await exported(shell, source, ...sealed, '--to', file)
      const empty = original.tables.filter(({ rows }) => rows === 0).map(({ table }) => table)
      assert.deepEqual(empty, ONLY_OF_0_1_0, 'every other table has rows, so that each is compared')
      const { project, began, without_secrets } = await imported(shell, target, file, '--as', 'marina')
      assert.equal(began, 'new')
      assert.deepEqual(without_secrets, [])
      const again = await exported(shell, target, '--project', 'marina', '--with', 'all', '--seal-to', recipient)
      assert.deepEqual(again.tables, original.tables)

      await target.restart()
      const [was, is] = await Promise.all([sayAll(inProject(source, 'harbour')), sayAll(inProject(target, 'marina'))])
      assert.deepEqual(Object.keys(is), Object.keys(was))
      const others = Object.keys(was).filter((path) => !isDeepStrictEqual(is[path], was[path]))
      assert.deepEqual(
        Object.fromEntries(others.map((path) => [path, is[path]])),
        Object.fromEntries(others.map((path) => [path, was[path]])),
      )
      assert.ok(Object.keys(was).length > 60, `${Object.keys(was).length} replies were compared`)
      const { body } = await target.call('GET', '/v1/projects/marina')
      assert.equal(body.data.id, project.id)
      assert.deepEqual(body.data.limits.concurrent_runs, 7)
    })

    test('runs nothing in the target until it is resumed, and keys work as before', async () => {
      const marina = inProject(target, 'marina')
      const { body } = await marina.call('GET', '/v1/pause')
      assert.match(body.data.project.reason, /^Imported/)
      const refused = await marina.call('POST', '/v1/agents/support/invoke', { body: { message: 'Hello!' } })
      assert.equal(refused.body.error.code, 'agent_paused')
      assert.equal((await marina.call('POST', '/v1/resume', { body: {} })).status, 200)
      const answered = await marina.call('POST', '/v1/agents/support/invoke', { body: { message: 'Hello!' } })
      assert.equal(answered.status, 200, answered.text)
      const entries = await marina.call('GET', '/v1/audit-log?action=importProject')
      assert.deepEqual(entries.body.data.map(({ outcome }: { outcome: string }) => outcome).toSorted(), [
        'started',
        'success',
      ])
      const left = await inProject(source, 'harbour').call('GET', '/v1/audit-log?action=exportProject')
      assert.ok(left.body.data.length > 0, left.text)
    })

    test('repeating the import says that it was done; importing under another name is refused', async () => {
      assert.equal((await imported(shell, target, file)).began, 'done before')
      const other = await onStore(shell, target, 'import', file, '--as', 'elsewhere')
      assert.equal(other.code, 1)
      assert.match(other.stderr, /The import of this file began as "marina"/)
      await exported(shell, source, '--project', 'harbour', '--to', join(shell.folder, 'later.moorage'))
      const again = await onStore(shell, target, 'import', join(shell.folder, 'later.moorage'), '--as', 'elsewhere')
      assert.equal(again.code, 1)
      assert.match(again.stderr, /This service already has agt_\w+, one of the agents in the file/)
    })

    test('without secrets, the reports list what is missing, and nothing works by accident', async () => {
      const bare = join(shell.folder, `plain-${to}.moorage`)
      const { stderr } = await onStore(shell, source, 'export', '--project', 'harbour', '--to', bare)
      for (const what of [
        /runs in progress \(3\): req_\w+, req_\w+, req_\w+\./,
        /secrets of tools \(3\): FERRY_SECRET, SHOP_TOKEN, UNUSED\./,
        /model providers with a key \(2\): anthropic, local\./,
        /webhooks' secrets \(3\): whk_/,
        /keys' second factors \(1\): key_/,
        /agents' own authentication \(auth\) \(1\): night-watch\./,
        /files of runs \(1\): file_/,
        /The project is not paused/,
      ]) {
        assert.match(stderr, what)
      }
      const third = await startService(to, world.settings, {}, { now: () => world.clock.now() })
      try {
        const { without_secrets } = await imported(shell, third, bare)
        assert.deepEqual(without_secrets, [
          { table: 'providers', rows: 2 },
          { table: 'secrets', rows: 3 },
          { table: 'key_factors', rows: 1 },
        ])
        const there = inProject(third, 'harbour')
        const { body: webhooks } = await there.call('GET', '/v1/webhooks?limit=100')
        const { body: originals } = await inProject(source, 'harbour').call('GET', '/v1/webhooks?limit=100')
        assert.equal(webhooks.data.length, originals.data.length)
        for (const { status, secret_hint, id } of webhooks.data) {
          assert.equal(status, 'disabled')
          assert.notEqual(secret_hint, originals.data.find((one: { id: string }) => one.id === id).secret_hint)
        }
        assert.deepEqual((await there.call('GET', '/v1/agents/night-watch')).body.data.auth, null)
        assert.deepEqual((await there.call('GET', '/v1/agents/support/invocations')).body.data, [])
      } finally {
        await third.stop()
      }
    })
  })
}

/** What the harbour lacks: rows that few projects have. */
async function addWhatIsRare(service: Service, shell: Shell): Promise<void> {
  const send = async (method: string, path: string, body?: object) => {
    const reply = await service.call(method, path, body === undefined ? {} : { body })
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
    return reply.body?.data
  }
  await send('PUT', '/v1/prices/tide/own-7b', { input: 1, output: 2 })
  const auth = { type: 'jwt', secret: 'not a secret, but long enough for one' }
  await send('PATCH', '/v1/agents/night-watch', { auth })
  const key = await send('POST', '/v1/keys', { name: 'with a code', role: 'developer' })
  await send('POST', `/v1/keys/${key.id}/rotate`, { grace_period_seconds: 3_600 })
  const enrolled = await onStore(shell, service, 'mfa', 'enrol', key.id, '--local', '--project', 'harbour')
  assert.equal(enrolled.code, 0, enrolled.stderr)
  const file_id = await uploaded(service, 'berth,metres\n4,7.7', { type: 'text/csv', query: '?name=again.csv' })
  await send('POST', '/v1/agents/support/schedules', {
    every: '1h',
    message: 'Read this',
    attachments: [{ file_id }],
  })
  await send('PUT', '/v1/agents/support/sessions/order-4720/summary?user_id=customer-3', { content: 'Wants a rope' })
  const data = Buffer.from('A chart').toString('base64')
  const seen = await send('POST', '/v1/agents/support/invoke', {
    message: 'See the chart',
    context: { user_id: 'newcomer' },
    attachments: [{ data, media_type: 'text/plain', name: 'chart.txt' }],
  })
  const feedback = `/v1/agents/support/invocations/${seen.request_id}/feedback`
  await send('PUT', feedback, { score: -0.75, comment: 'That is another harbour' })
  await send('PUT', feedback, { score: 1, key: 'tone' })
  // What background work with models leaves.
  const db = storeOf(service)
  const memories = await db.selectFrom('memories').selectAll().where('session_id', '<>', '').orderBy('seq').execute()
  const [first, , third] = memories
  assert.ok(first && third)
  const vector = Buffer.from(new Float32Array([0.6, 0.8]).buffer)
  for (const { seq } of [first, third]) {
    await db.insertInto('memory_vectors').values({ memory_seq: seq, model: 'none', vector }).execute()
  }
  const { agent_seq, user_id, session_id } = third
  const scope = db.updateTable('memory_scopes').set({ facts_through: third.seq }).where('level', '=', 2)
  await scope
    .where('agent_seq', '=', agent_seq)
    .where('user_id', '=', user_id)
    .where('session_id', '=', session_id)
    .execute()
}

const RANGE = 'from=2026-03-01T00:00:00Z&to=2026-03-05T00:00:00Z'

/** Every list of the project and every item in it, as the API shows it. Names of people and keys outside of it are left out. */
async function sayAll(service: Service): Promise<Record<string, unknown>> {
  const said: Record<string, unknown> = {}
  const get = async (path: string) => {
    const { status, text, body } = await service.call('GET', path)
    assert.equal(status, 200, `${path}: ${text}`)
    said[path] = plain(body.data, path)
    return body
  }
  const list = async (path: string) => {
    const all = []
    for (let offset = 0; ; offset += 100) {
      const body = await get(`${path}${path.includes('?') ? '&' : '?'}limit=100&offset=${offset}`)
      all.push(...body.data)
      if (all.length >= body.pagination.total || body.data.length === 0) return all
    }
  }
  for (const path of [
    'providers',
    'prices',
    'secrets',
    'budgets',
    'files',
    'webhooks',
    'keys',
    'invocations',
    'feedback',
  ]) {
    await list(`/v1/${path}`)
  }
  for (const { id } of await list('/v1/files?sort=created_at')) {
    said[`content of ${id}`] = (
      await download(service, id, { headers: { 'Moorage-Project': service.project ?? '' } })
    ).bytes.toString()
  }
  for (const { id, project_id } of await list('/v1/keys?sort=created_at')) {
    if (project_id !== null) await get(`/v1/keys/${id}/mfa`)
  }
  await get('/v1/approvals?status=rejected')
  for (const group_by of ['model', 'agent', 'user']) {
    await get(`/v1/usage?group_by=${group_by}&${RANGE}`)
  }
  for (const { id } of await list('/v1/agents')) {
    const at = `/v1/agents/${id}`
    await get(at)
    for (const { id: deployment } of await list(`${at}/deployments`)) await get(`${at}/deployments/${deployment}`)
    for (const { id: schedule } of await list(`${at}/schedules`)) await get(`${at}/schedules/${schedule}`)
    for (const { request_id, status } of await list(`${at}/invocations?sort=created_at`)) {
      if (status === 'waiting') continue
      const { body } = await service.call('GET', `${at}/invocations/${request_id}`)
      said[`${at}/invocations/${request_id}`] = plain(body.data, '')
    }
    await list(`${at}/memory`)
    await list(`${at}/users`)
    for (const { session_id, user_id } of await list(`${at}/sessions`)) {
      const { status, body } = await service.call(
        'GET',
        `${at}/sessions/${session_id}/summary?user_id=${user_id ?? ''}`,
      )
      said[`${at} ${session_id}`] = { status, said: plain(body.data, '') }
    }
    await get(`${at}/logs?limit=100`)
    for (const metric of ['throughput', 'response_time', 'error_rate'])
      await get(`${at}/metrics?metric=${metric}&start_time=2026-03-01T00:00:00Z&end_time=2026-03-05T00:00:00Z`)
    for (const query of ['mooring rope', 'Folkeboat', 'refund']) {
      const found = await service.call('POST', `${at}/memory/search`, { body: { query, limit: 20 } })
      assert.equal(found.status, 200, found.text)
      said[`${at} ${query}`] = plain(found.body.data, '')
    }
  }
  return said
}

/** The id of the project, of log entries and of other stores differ. A run that goes on isn't carried. */
function plain(data: unknown, path: string): unknown {
  const isLog = path.includes('/logs')
  const isKey = path.startsWith('/v1/keys')
  // Each service has administrators of its own.
  const ofProject = isKey && Array.isArray(data) ? data.filter((key) => key.project_id !== null) : data
  const text = JSON.stringify(ofProject, (key, value) => {
    // A use is stored a while later.
    if (isKey && key === 'last_used_at') return undefined
    // A schedule whose key stays runs with the operator's rights.
    if (key === 'project_id' || key === 'updated_by' || key.endsWith('_name') || (isLog && key === 'id'))
      return undefined
    return value
  })
  const read = JSON.parse(text ?? 'null')
  return Array.isArray(read) ? read.filter(({ status }) => status !== 'waiting') : read
}
