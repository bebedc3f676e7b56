import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cluster, type ClusterNode, startCluster } from '../support/chaos/cluster.ts'
import { type LoadLog, startLoad } from '../support/chaos/load.ts'
import { readBody, startLocalServer } from '../support/outside/local-server.ts'
import { IS_LONG } from '../support/running/long.ts'
import { until } from '../support/running/until.ts'

// The long form has more rounds and longer outages, and the leases of what died run out by themselves.
const SEED = Number(process.env['MOORAGE_CHAOS_SEED'] || 20_261_115)
const ROUNDS = IS_LONG ? 3 : 1
const OUTAGE_MS = IS_LONG ? 10_000 : 1_200
const CALM_MS = IS_LONG ? 3_000 : 300
const CALM_REQUESTS = IS_LONG ? 50 : 25
const SETTLED_WITHIN_MS = IS_LONG ? 90_000 : 10_000
const PACE = IS_LONG ? { pause: 10, patience: 60_000 } : { pause: 100, patience: 2_000 }
const PLACES = 3
const FREE_BURST = 100

test('three nodes under load lose nothing, whatever is killed, stopped or restarted', {
  timeout: 900_000,
}, async (t) => {
  const random = seeded(SEED)
  const cluster = await startCluster(t, ['first', 'second', 'third'])
  const first = cluster.nodes[0] as ClusterNode
  const world = await startWorld()
  t.after(() => world.close())
  const names = await furnish(first, world)
  const started = performance.now()
  const load = startLoad(cluster, names, random, PACE)
  const { seen } = load
  t.after(() => load.stop())

  const resets = await disturb(cluster, load.total)
  const seconds = (performance.now() - started) / 1000
  await load.stop()
  t.diagnostic(
    `${load.total()} requests in ${seconds.toFixed(1)} s: ${JSON.stringify(Object.fromEntries(seen.counts))}`,
  )

  const stuck = await settle(cluster, first)
  assert.deepEqual(
    { stuck, ...(await examine(cluster, seen, world)) },
    {
      stuck: [],
      wrong: [],
      lost: [],
      twice: [],
      forgotten: [],
      undelivered: [],
    },
  )
  assert.ok(world.mostAtOnce <= PLACES, `${world.mostAtOnce} runs at once of an agent that may have ${PLACES}`)
  // Redis forgets when it stops: then a key has its burst again, once from the nodes alone and once from Redis.
  const allowed = FREE_BURST * (1 + 2 * resets) + seconds + 3 * cluster.nodes.length
  assert.ok(seen.freePassed <= allowed, `${seen.freePassed} passed where ${allowed} may`)
})

/** What the clients were promised, held against what is stored; each list should be empty. */
async function examine({ db }: Cluster, seen: LoadLog, world: { delivered: Set<string> }) {
  const rows = await db.selectFrom('all_invocations').select(['id', 'status', 'message']).execute()
  const statusOf = new Map(rows.map(({ id, status }) => [id, status]))
  const completed = rows.filter(({ status }) => status === 'completed')
  const byMessage = Map.groupBy(completed, ({ message }) => message)
  const kept = new Set((await db.selectFrom('memories').select('id').execute()).map(({ id }) => id))
  const promised = [...seen.answered, ...seen.accepted]
  return {
    wrong: [...seen.wrong, ...(seen.wrong.length > 0 ? await errorsOfRuns(db) : [])],
    lost: promised.filter((id) => statusOf.get(id) !== 'completed').map((id) => `${id}: ${statusOf.get(id)}`),
    twice: [...seen.byKey].filter(([key, ids]) => ids.size > 1 || (byMessage.get(key)?.length ?? 0) > 1),
    forgotten: [...seen.memories].filter((id) => !kept.has(id)),
    undelivered: completed.filter(({ id }) => !world.delivered.has(id)),
  }
}

/** What failed runs have logged: warnings and errors say why a client was answered with an error. */
async function errorsOfRuns(db: Cluster['db']): Promise<string[]> {
  const entries = await db.selectFrom('logs').selectAll().where('level', '<>', 1).execute()
  return entries.map((entry) => JSON.stringify(entry))
}

/** What agents and webhooks call. It counts the runs of the limited agent, and which events came. */
async function startWorld() {
  const world = { delivered: new Set<string>(), mostAtOnce: 0 }
  let atOnce = 0
  const server = await startLocalServer(async (request, response) => {
    if (request.url === '/events') {
      world.delivered.add(JSON.parse(await readBody(request)).data.request_id)
      response.end()
      return
    }
    const isLimited = request.url === '/limited'
    if (isLimited) world.mostAtOnce = Math.max(world.mostAtOnce, ++atOnce)
    // When its node is killed the run is over.
    response.once('close', () => {
      if (isLimited) atOnce--
    })
    await delay(isLimited ? 40 : 10)
    response.end('done')
  })
  return Object.assign(world, { url: server.url, close: server.close })
}

async function furnish({ service }: ClusterNode, world: { url: string }) {
  const withTool = (path: string) => ({
    model: 'builtin/script',
    script: { rules: [{ call: { tool: 'act' }, reply: 'acted' }] },
    tools: [{ type: 'http', name: 'act', url: `${world.url}/${path}` }],
  })
  await service.call('POST', '/v1/agents', { name: 'plain' })
  await service.call('POST', '/v1/agents', { name: 'tool', ...withTool('tool') })
  await service.call('POST', '/v1/agents', {
    name: 'limited',
    ...withTool('limited'),
    limits: { max_concurrency: PLACES },
  })
  await service.call('POST', '/v1/webhooks', { url: `${world.url}/events`, events: ['agent.completed'] })
  const { data } = await service.call('POST', '/v1/keys', { name: 'free', role: 'viewer', tier: 'free' })
  return { free: data.secret as string, plain: 'plain', tool: 'tool', limited: 'limited' }
}

/** Everything that may happen to a cluster, one after the other. Returns how often Redis forgot. */
async function disturb(cluster: Cluster, total: () => number): Promise<number> {
  const { nodes, postgres, redis, kill, terminate, start } = cluster
  const calm = async () => {
    const enough = total() + CALM_REQUESTS
    await until('the load goes on', () => total() > enough)
    await delay(CALM_MS)
  }
  await calm()
  for (let round = 0; round < ROUNDS; round++) {
    const [a, b, c] = [0, 1, 2].map((i) => nodes[(i + round) % 3]) as [ClusterNode, ClusterNode, ClusterNode]
    await kill(a)
    await start(a)
    await calm()
    await terminate(b)
    await start(b)
    await calm()
    await redis.stop()
    await delay(OUTAGE_MS)
    await redis.start()
    await calm()
    await postgres.stop()
    await delay(OUTAGE_MS)
    await postgres.start()
    await calm()
    await kill(c)
    await start(c)
    await calm()
    if (!IS_LONG) continue
    await postgres.stop()
    await kill(b)
    await postgres.start()
    await start(b)
    await Promise.all([redis.stop(), terminate(a)])
    await Promise.all([redis.start(), start(a)])
    await calm()
  }
  return ROUNDS * (IS_LONG ? 2 : 1)
}

/**
 * Waits until nothing is under way any more; what still is after a while is returned. What dead nodes held is free when
 * its leases have run out.
 */
async function settle({ db, terminate, start }: Cluster, node: ClusterNode): Promise<unknown[]> {
  if (!IS_LONG) {
    // What is locked is in the hands of a node that lives.
    const running = db.selectFrom('runs').select('id').where('status', '=', 'running').forUpdate().skipLocked()
    await db.updateTable('runs').set({ lease_until: 0 }).where('id', 'in', running).execute()
    const pending = db.selectFrom('deliveries').select('id').where('status', '=', 'pending').forUpdate().skipLocked()
    await db.updateTable('deliveries').set({ next_attempt_at: 0 }).where('id', 'in', pending).execute()
    // A node that starts looks for what others have left.
    await terminate(node)
    await start(node)
  }
  const underWay = async () => [
    ...(await db
      .selectFrom('runs')
      .select(['id', 'status', 'owner', 'lease_until', 'attempt', 'background'])
      .where('status', 'in', ['queued', 'running'])
      .execute()),
    ...(await db
      .selectFrom('deliveries')
      .select(['id', 'status', 'owner', 'next_attempt_at', 'attempts'])
      .where('status', '=', 'pending')
      .execute()),
  ]
  // On a busy machine it takes its time, but it continues.
  for (let before = Number.POSITIVE_INFINITY; ; ) {
    const { length } = await underWay()
    if (length === 0 || length >= before) return underWay()
    before = length
    const isOver = async () => (await underWay()).length === 0
    await until('nothing is under way', isOver, SETTLED_WITHIN_MS).catch(() => {})
  }
}

/** mulberry32: the same numbers for the same seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
