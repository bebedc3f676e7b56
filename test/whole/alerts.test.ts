import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { parse } from 'yaml'
import { evaluate, type Scrape, scrapeTarget } from '../support/clients/prometheus.ts'
import { readDeployFile } from '../support/house/deploy-files.ts'
import { hearsChanges, stopApp, storeOf } from '../support/inside.ts'
import { standStill } from '../support/running/stand-still.ts'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'
import { type Engine, type Settings, startService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'
import { createWebhook, LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'
import { unusedPort } from '../support/stores/daemon.ts'
import { startPostgres } from '../support/stores/postgres.ts'
import { startRedis } from '../support/stores/redis.ts'

type Rule = { alert: string; expr: string }
const { groups } = parse(readDeployFile('prometheus/moorage.rules.yaml')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)

/** Prometheus reads a target every 15 seconds. Here it reads when the test says so, and time passes in between. */
const STEP_SECONDS = 15

/** Reads a node, and says which alerts hold. How long an alert must hold before somebody is told is not waited for. */
function watch(url: () => string, headers: Record<string, string> = {}) {
  const scrapes: Scrape[] = []
  return async (): Promise<string[]> => {
    scrapes.push(await scrapeTarget(url(), headers, scrapes.length * STEP_SECONDS))
    return rules.filter(({ expr }) => evaluate(expr, scrapes).length > 0).map(({ alert }) => alert)
  }
}

describe('deploy/prometheus/moorage.rules.yaml', () => {
  const fired = new Set<string>()
  after(() => assert.deepEqual([...fired].toSorted(), rules.map(({ alert }) => alert).toSorted()))
  const untilFires = async (look: () => Promise<string[]>, ...alerts: string[]) => {
    await until(alerts.join(' and '), async () => {
      const found = await look()
      return alerts.every((alert) => found.includes(alert))
    })
    for (const alert of alerts) fired.add(alert)
  }
  /** No alert holds, and counters were read before what follows. */
  const untilCalm = (look: () => Promise<string[]>) =>
    until('all is well', async () => (await look()).length === 0 && (await look()).length === 0)
  /** A service whose telemetry is read on a port of its own, which stays the same when it is started again. */
  const watched = async (t: TestContext, engine: Engine, settings: Settings = {}) => {
    const port = await unusedPort()
    const service = await startService(engine, { MOORAGE_SERVER__METRICS_PORT: String(port), ...settings })
    t.after(() => service.stop())
    const url = `http://127.0.0.1:${port}/metrics`
    const look = watch(() => url)
    await untilCalm(look)
    return { service, look, url }
  }

  test('fires for a node that is down', async (t) => {
    const { service, look } = await watched(t, 'sqlite')
    await stopApp(service)
    await untilFires(look, 'MoorageDown', 'MoorageAbsent')
  })

  test('fires for PostgreSQL that is down, and for the failing requests', async (t) => {
    const postgres = await startPostgres()
    const { service, look } = await watched(t, 'postgres', { DATABASE_URL: postgres.url })
    t.after(() => postgres.close())
    await postgres.stop()
    await until('it is noticed', () => !hearsChanges(service))
    const goOn = async () => {
      await Promise.all([1, 2, 3].map(() => service.call('GET', '/v1/agents')))
      return look()
    }
    await untilFires(goOn, 'MoorageDatabaseDown', 'MoorageRequestsFail')
    await postgres.start()
  })

  test('fires when all connections to PostgreSQL are in use', async (t) => {
    const { service, look } = await watched(t, 'postgres', { MOORAGE_DATABASE__POOL_SIZE: '4' })
    const held = Promise.all([1, 2, 3, 4, 5, 6].map(() => sql`select pg_sleep(2)`.execute(storeOf(service))))
    await untilFires(look, 'MoorageDatabasePoolBusy')
    await held
  })

  test('fires for Redis that is down', async (t) => {
    const redis = await startRedis()
    const { look } = await watched(t, 'sqlite', { REDIS_URL: redis.url })
    t.after(() => redis.close())
    await redis.stop()
    await untilFires(look, 'MoorageRedisDown')
  })

  test('fires when file handles run out: clients are refused with the reason, and it is logged once', async (t) => {
    const port = await unusedPort()
    const settings = { MOORAGE_SERVER__METRICS_PORT: String(port) }
    const service = await startChildService(t, 'sqlite', settings, { openFiles: 512 })
    const look = watch(() => `http://127.0.0.1:${port}/metrics`)
    await untilCalm(look)
    const sockets: Socket[] = []
    t.after(() => sockets.forEach((socket) => void socket.destroy()))
    let refused = ''
    const open = async () => {
      const socket = connect(Number(new URL(service.url()).port), '127.0.0.1')
      socket.on('error', () => {})
      socket.on('data', (bytes) => (refused ||= bytes.toString()))
      sockets.push(socket)
      await new Promise((done) => socket.once('connect', done).once('close', done))
    }
    while (sockets.length < 600 && refused === '') await open()
    // The kernel accepts connections for a service that does not get to them yet.
    await until('a connection is refused', () => refused !== '')
    assert.match(refused, /^HTTP\/1\.1 503 /)
    assert.match(refused, /\r\nRetry-After: 5\r\n/i)
    assert.match(refused, /"code":"unavailable","message":"The service has too many open connections. Try again/)
    for (let more = 0; more < 20; more++) await open()
    await untilFires(look, 'MoorageFileHandlesAlmostOut', 'MoorageConnectionsRefused')
    const told = () => service.output().match(/the process has no file handles left/g)?.length
    assert.equal(await until('the line in the log', told), 1)
    for (const socket of sockets.splice(0)) socket.destroy()
    await until('requests are served again', () => service.send('GET', '/v1/agents'))
  })

  test('fires for a node that was killed during a run, which another node takes over', async (t) => {
    const port = await unusedPort()
    const settings = { MOORAGE_SERVER__METRICS_PORT: String(port), LOG_LEVEL: 'warn' }
    const service = await startChildService(t, 'sqlite', settings)
    const look = watch(() => `http://127.0.0.1:${port}/metrics`)
    await untilCalm(look)
    const script = { rules: [{ reply: 'at last', delay_ms: 60_000 }] }
    await service.call('POST', '/v1/agents', { name: 'slow', model: 'builtin/script', script })
    const headers = { Prefer: 'respond-async' }
    const { data } = await service.call('POST', '/v1/agents/slow/invoke', { message: 'go' }, headers)
    const path = `/v1/agents/slow/invocations/${data.request_id}`
    await until('it runs', async () => (await service.call('GET', path)).data.status === 'running')
    await service.kill()
    await service.start()
    await untilFires(look, 'MoorageNodeDied')
    const told = `"request_id":"${data.request_id}","msg":"a run's lease expired, so this node took it over`
    await until('the line in the log', () => service.output().includes(told))
  })

  test('fires for a node that keeps restarting', async (t) => {
    const port = await unusedPort()
    const service = await startChildService(t, 'sqlite', { MOORAGE_SERVER__METRICS_PORT: String(port) })
    const look = watch(() => `http://127.0.0.1:${port}/metrics`)
    await untilCalm(look)
    for (let restarts = 0; restarts < 3; restarts++) {
      await service.kill()
      await service.start()
      await look()
    }
    await untilFires(look, 'MoorageRestarts')
  })

  test('fires for a blocked event loop', async (t) => {
    const { look } = await watched(t, 'sqlite')
    const goOn = async () => {
      await standStill(300)
      return look()
    }
    await untilFires(goOn, 'MoorageEventLoopSlow')
  })

  test('fires for a database whose commits are slow', async (t) => {
    const { service, look } = await watched(t, 'postgres')
    const db = storeOf(service)
    const goOn = async () => {
      const locked = db.transaction().execute(async (trx) => {
        await sql`lock table runs in exclusive mode`.execute(trx)
        await sql`select pg_sleep(2)`.execute(trx)
      })
      // In a session, a run is stored before it begins.
      const body = { message: 'ahoy', context: { session_id: 'noon' } }
      await service.call('POST', '/v1/agents/hello/invoke', { body })
      await locked
      return look()
    }
    await untilFires(goOn, 'MoorageCommitsSlow')
  })

  test('fires for nodes of different versions, and for one whose memory or disk is used up', async (t) => {
    const { url } = await watched(t, 'sqlite')
    const told = await scrapeTarget(url, {}, 0)
    // There is no other release, and a test can't use up memory or disk: this is the node itself with changed numbers.
    const disk = told.samples.find(({ name }) => name === 'moorage_disk_size_bytes')?.value ?? 0
    const samples = told.samples.flatMap((sample) => {
      if (sample.name === 'moorage_disk_free_bytes') return { ...sample, value: 0.09 * disk }
      if (sample.name === 'moorage_memory_limit_bytes') return { ...sample, value: process.memoryUsage.rss() }
      const other = { ...sample, labels: { ...sample.labels, instance: 'other', version: '0.0.0' } }
      return sample.name === 'moorage_info' ? [sample, other] : sample
    })
    for (const alert of ['MoorageVersionsDiffer', 'MoorageMemoryAlmostOut', 'MoorageDiskAlmostFull']) {
      const { expr = '' } = rules.find((rule) => rule.alert === alert) ?? {}
      assert.deepEqual(evaluate(expr, [told]), [], alert)
      assert.equal(evaluate(expr, [{ time: 0, samples }]).length, 1, alert)
      fired.add(alert)
    }
  })

  test('fires for scheduled runs that were missed while no node was running', async (t) => {
    const { service, look } = await watched(t, 'sqlite')
    const body = { message: 'go', every: '1m' }
    const created = await service.call('POST', '/v1/agents/hello/schedules', { body })
    assert.equal(created.status, 201, created.text)
    await stopApp(service)
    service.advance(600_000)
    await service.restart()
    await untilFires(look, 'MoorageTicksMissed')
  })

  test('fires for a webhook whose receiver is down', async (t) => {
    const { service, look } = await watched(t, 'sqlite', LOCAL_RECEIVERS)
    const inbox = await openInbox(t, (_arrival, _request, response) => response.writeHead(410).end())
    await createWebhook(service, { url: inbox.url })
    await service.call('POST', '/v1/agents/hello/invoke', { body: { message: 'ahoy' } })
    await untilFires(look, 'MoorageWebhooksDisabled')
  })

  test('fires for runs that wait too long', async (t) => {
    const { service, look } = await watched(t, 'sqlite')
    const script = { rules: [{ reply: 'at last', delay_ms: 60_000 }] }
    await createAgent(service, 'slow', { model: 'builtin/script', script, limits: { max_concurrency: 1 } })
    for (const message of ['runs', 'waits']) {
      const headers = { Prefer: 'respond-async' }
      await service.call('POST', '/v1/agents/slow/invoke', { body: { message }, headers })
    }
    service.advance(301_000)
    await untilFires(look, 'MoorageQueueStuck')
  })
})
