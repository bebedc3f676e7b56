import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstRelease, MIGRATIONS } from '../../../src/storage/schema/released-migrations.ts'
import { databaseUrl, nodeOf, partsOf, rowsOf, stopApp, storeOf } from '../../support/inside.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { startService, withService } from '../../support/service/service.ts'

type Node = {
  node: string
  status: string
  version: string
  commit: string | null
  seen_at: string
  busy_percent: number
  memory_bytes: number
}

const MASTER_KEY = { MOORAGE_MASTER_KEY: '00'.repeat(32) }

test('nodes of one database see each other; a killed one is shown as silent for an hour, then removed', async (t) => {
  const survivor = await startService('postgres', MASTER_KEY)
  t.after(() => survivor.stop())
  const nodes = async (): Promise<Node[]> => {
    const { status, body, text } = await survivor.call('GET', '/v1/system')
    assert.equal(status, 200, text)
    return body.data.nodes
  }
  const mortal = await startChildService(t, 'postgres', {
    ...MASTER_KEY,
    MOORAGE_INIT_KEY: survivor.admin,
    DATABASE_URL: databaseUrl(survivor),
  })
  await untilHolds(async () => assert.equal((await nodes()).length, 2))
  const [own, other] = await nodes()
  assert.equal(own?.node, nodeOf(survivor))
  for (const { status, version, busy_percent, memory_bytes } of [own, other] as Node[]) {
    assert.deepEqual([status, version], ['live', other?.version])
    assert.ok(busy_percent >= 0 && busy_percent <= 100 && memory_bytes > 10_000_000)
  }
  const seen = (await mortal.call('GET', '/v1/system')).data
  assert.deepEqual(
    seen.nodes.map(({ node }: Node) => node),
    [other?.node, own?.node],
    'the one that answers comes first',
  )

  await mortal.kill()
  const [, last] = await nodes()
  survivor.advance(91_000)
  const [, dead] = await nodes()
  assert.deepEqual([dead?.node, dead?.status], [other?.node, 'silent'])
  assert.equal(dead?.seen_at, last?.seen_at)

  survivor.advance(3_600_000)
  await untilHolds(async () =>
    assert.deepEqual(
      (await nodes()).map(({ status }) => status),
      ['live'],
    ),
  )
})

test('nodes show which version and commit each of them runs', async (t) => {
  const first = await startService('postgres', MASTER_KEY)
  t.after(() => first.stop())
  const shared = { MOORAGE_INIT_KEY: first.admin, DATABASE_URL: databaseUrl(first) }
  const next = { version: '0.2.0', commit: 'c0ffee'.padEnd(40, '0') }
  const second = await startService('postgres', { ...MASTER_KEY, ...shared }, {}, { version: next })
  t.after(() => second.stop())
  for (const [service, own] of [
    [first, partsOf(first).version],
    [second, next],
  ] as const) {
    const { body } = await service.call('GET', '/v1/system')
    const { version, commit, schema, nodes } = body.data
    assert.deepEqual({ version, commit }, own)
    const shown = nodes.map((one: Node) => [one.node, { version: one.version, commit: one.commit }])
    assert.deepEqual(Object.fromEntries(shown), {
      [nodeOf(first)]: partsOf(first).version,
      [nodeOf(second)]: next,
    })
    assert.deepEqual(schema, { current: MIGRATIONS.at(-1)?.name, supported_from: firstRelease.name })
    const lines = service.log().split('\n')
    const starting = lines.find((line) => line.includes('"msg":"starting"')) ?? ''
    assert.deepEqual(JSON.parse(starting).commit, own.commit)
  }
})

test('a death is logged once, by one node, and not again when another one starts', async (t) => {
  const first = await startService('postgres', MASTER_KEY)
  const join = async () => {
    const node = await startService('postgres', {
      ...MASTER_KEY,
      MOORAGE_INIT_KEY: first.admin,
      DATABASE_URL: databaseUrl(first),
    })
    t.after(() => node.stop())
    return node
  }
  t.after(() => first.stop())
  const nodes = [first, await join()]
  /** What a node that was killed leaves. */
  const leaveDead = (node: string) => {
    const told = { version: '0.1.0', commit: null, runs_live: 0, busy_percent: 0, memory_bytes: 0, taken_over_at: null }
    const time = first.now()
    return storeOf(first)
      .insertInto('nodes')
      .values({ node, ...told, started_at: time, seen_at: time })
      .execute()
  }
  const told = (node: string) =>
    nodes
      .flatMap((one) => one.log().split('\n'))
      .filter((line) => line.includes('a node has stopped') && line.includes(node))
  await leaveDead('service:one')
  await until('the death is logged', () => told('service:one').length > 0)
  nodes.push(await join())
  // Whoever judges the second one would judge the first one again before it.
  await leaveDead('service:two')
  await until('all three have noticed', () => nodes.every((node) => partsOf(node).nodes.live === 3))
  await until('the death is logged', () => told('service:two').length > 0)
  assert.deepEqual([told('service:one').length, told('service:two').length], [1, 1])
})

test('a node that stops leaves at once', async () => {
  const first = await startService('postgres', MASTER_KEY)
  const second = await startService('postgres', {
    ...MASTER_KEY,
    MOORAGE_INIT_KEY: first.admin,
    DATABASE_URL: databaseUrl(first),
  })
  const count = async () => (await first.call('GET', '/v1/system')).body.data.nodes.length
  await until('both are there', async () => (await count()) === 2)
  await stopApp(second)
  assert.equal(await count(), 1)
  await second.stop()
  await first.stop()
})

test('a SQLite store has one node, which writes nothing for that', async () => {
  await withService('sqlite', async (service) => {
    const { nodes, node } = (await service.call('GET', '/v1/system')).body.data
    assert.deepEqual(
      nodes.map((one: Node) => [one.node, one.status]),
      [[node, 'live']],
    )
    assert.deepEqual(await rowsOf(service, 'nodes'), [])
  })
})
