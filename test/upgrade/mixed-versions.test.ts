import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { newShell } from '../support/clients/cli.ts'
import { readSamples } from '../support/clients/prometheus.ts'
import { databaseUrl, nodeOf, partsOf } from '../support/inside.ts'
import { IS_LONG } from '../support/running/long.ts'
import { requestSoon } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'
import { ADDED } from './planted.ts'

/** How much the old and the new node serve together, and how much each of them alone. */
const TOGETHER_REQUESTS = IS_LONG ? 20_000 : 120
const ALONE_REQUESTS = 40
const CLIENTS = 6
const SETTINGS = {
  MOORAGE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  MOORAGE_LIMITS__TIERS: '{"enterprise":{"requestsPerMinute":10000000,"burst":10000000}}',
}
const NEXT = { version: '9.0.0', commit: 'c0ffee'.padEnd(40, '0') }
const KINDS = ['invoke', 'stream', 'background', 'keyed', 'list', 'search'] as const

/** Clients that ask those nodes that take requests, one after the other, until they are told to end. */
class Load {
  nodes: Service[] = []
  readonly statuses = new Map<string, number>()
  answered = 0
  invoked = 0
  #isOver = false
  readonly #clients: Promise<void>[]

  constructor(admin: string) {
    this.#clients = Array.from({ length: CLIENTS }, (_, client) => this.#run(client, admin))
  }

  async more(count: number): Promise<void> {
    const goal = this.answered + count
    await until(`${count} more answers`, () => this.answered >= goal)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
  }

  async #run(client: number, admin: string): Promise<void> {
    for (let i = client; !this.#isOver; i++) {
      const node = this.nodes[i % Math.max(1, this.nodes.length)]
      if (!node) {
        await delay(5)
        continue
      }
      const kind = KINDS[i % KINDS.length] ?? 'invoke'
      const { path, body, headers } = requestOf(kind, `${client}-${i}`)
      const { status } = await requestSoon(node.url + path, {
        method: body ? 'POST' : 'GET',
        headers: { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
      })
      const told = `${kind} ${status}`
      this.statuses.set(told, (this.statuses.get(told) ?? 0) + 1)
      this.answered++
      if (path.endsWith('/invoke')) this.invoked++
    }
  }
}

function requestOf(kind: (typeof KINDS)[number], name: string) {
  const invoke = { path: '/v1/agents/hello/invoke', body: { message: name, context: { user_id: `user-${name}` } } }
  if (kind === 'stream') return { ...invoke, headers: { Accept: 'text/event-stream' } }
  if (kind === 'background') return { ...invoke, headers: { Prefer: 'respond-async' } }
  if (kind === 'keyed') return { ...invoke, headers: { 'Idempotency-Key': name } }
  if (kind === 'list') return { path: '/v1/agents/hello/invocations?limit=5', body: undefined, headers: {} }
  if (kind === 'search') return { path: '/v1/agents/hello/memory/search', body: { query: 'user' }, headers: {} }
  return { ...invoke, headers: {} }
}

test('an old and a new node serve together, the new one alone, and the old one again: no request fails', async (t) => {
  const older = await startService('postgres', SETTINGS)
  t.after(() => older.stop())
  const shared = { ...SETTINGS, MOORAGE_INIT_KEY: older.admin, DATABASE_URL: databaseUrl(older) }
  const load = new Load(older.admin)
  load.nodes = [older]
  await load.more(ALONE_REQUESTS)

  // It migrates while the old node serves.
  const newer = await startService('postgres', shared, {}, { migrations: ADDED, version: NEXT })
  t.after(() => newer.stop())
  load.nodes = [older, newer]
  await load.more(TOGETHER_REQUESTS)
  await seenByAll(older, newer)

  load.nodes = [newer]
  await load.more(ALONE_REQUESTS)
  await older.restart()
  load.nodes = [older, newer]
  await load.more(ALONE_REQUESTS)
  await load.end()

  const failed = [...load.statuses].filter(([told]) => !/ (200|202)$/.test(told))
  assert.deepEqual(failed, [], JSON.stringify([...load.statuses]))
  assert.equal(load.statuses.size, KINDS.length, JSON.stringify([...load.statuses]))
  t.diagnostic(`${load.answered} answers: ${JSON.stringify([...load.statuses])}`)
  for (const node of [older, newer]) {
    await until('every run is counted', async () => {
      const { body } = await node.call('GET', '/v1/agents/hello/invocations?status=completed&limit=1')
      return body.pagination.total === load.invoked
    })
  }
})

/** The API, the command line and the metrics of both nodes tell their versions. */
async function seenByAll(older: Service, newer: Service): Promise<void> {
  const own = partsOf(older).version
  const versions = { [nodeOf(older)]: own, [nodeOf(newer)]: NEXT }
  for (const service of [older, newer]) {
    const { body } = await service.call('GET', '/v1/system')
    const told = body.data.nodes.map(({ node, version, commit }: Record<string, string>) => [node, { version, commit }])
    assert.deepEqual(Object.fromEntries(told), versions)
    assert.equal(body.data.schema.current, ADDED.at(-1)?.name)
    const { text } = await service.call('GET', '/metrics')
    const info = readSamples(text).find(({ name }) => name === 'moorage_info')
    const { version, commit } = info?.labels ?? {}
    const expected = service === newer ? NEXT : own
    assert.deepEqual({ version, commit }, { ...expected, commit: expected.commit ?? '' })
  }
  const shell = newShell(newer)
  try {
    const { stdout } = await shell.moorage(['system', '--nodes'])
    assert.match(stdout, /live +9\.0\.0 \(c0ffee000000\)/)
    assert.ok(stdout.includes(`live    ${own.version}`), stdout)
  } finally {
    shell.remove()
  }
}
