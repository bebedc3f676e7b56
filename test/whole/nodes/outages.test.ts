import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSamples } from '../../support/clients/prometheus.ts'
import { hearsChanges } from '../../support/inside.ts'
import { inOneAttempt } from '../../support/running/attempts.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import { startService } from '../../support/service/service.ts'
import { freshPostgres } from '../../support/stores/fresh-store.ts'
import { startPostgres } from '../../support/stores/postgres.ts'
import { startRedis } from '../../support/stores/redis.ts'
import { startNetwork } from '../../support/stores/silent-network.ts'

const WITHIN_MS = 1_000 * PATIENCE

/** The lines that tell something, without those at levels below `warn`. */
const linesOf = (log: string) =>
  log
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { level: string; msg: string; failures?: number })
    .filter(({ level }) => level === 'warn' || level === 'error')

describe('telemetry while PostgreSQL hangs', () => {
  test('is there within a second, and says that the database is not', async (t) => {
    const database = await freshPostgres()
    const network = await startNetwork(new URL(database.url))
    const service = await startService('postgres', { DATABASE_URL: network.url, MOORAGE_SERVER__METRICS_PORT: '0' })
    t.after(async () => {
      network.restore()
      await service.stop()
      await network.close()
      await database.drop()
    })
    const [, port] = /"port":(\d+),"msg":"Prometheus/.exec(service.log()) ?? assert.fail(service.log())
    const scrape = async (url: string) => {
      const started = performance.now()
      const headers = { Authorization: `Bearer ${service.admin}` }
      const text = await (await fetch(url, { headers })).text()
      const tookMs = performance.now() - started
      return { tookMs, samples: new Map(readSamples(text).map(({ name, value }) => [name, value])) }
    }
    const own = `http://127.0.0.1:${port}/metrics`
    await untilHolds(async () => {
      const { samples } = await scrape(own)
      assert.deepEqual([samples.get('moorage_database_up'), samples.get('moorage_queue_depth')], [1, 0])
    })

    const saysSoInTime = async (url: string) => {
      const samples = await until('it says so in time', async () => {
        const { tookMs, samples: found } = await scrape(url)
        return tookMs < WITHIN_MS && found.get('moorage_database_up') === 0 ? found : undefined
      })
      assert.equal(samples.has('moorage_queue_depth'), false, 'what only the database knows is left out')
      assert.ok((samples.get('process_resident_memory_bytes') ?? 0) > 0)
    }
    // With a key too, which is in memory until the silence is noticed: a busy machine may be too late for that.
    await inOneAttempt(async (attempt) => {
      if (attempt > 1) network.restore()
      await until('the database is heard', () => hearsChanges(service))
      await scrape(`${service.url}/metrics`)
      network.silence()
      await saysSoInTime(`${service.url}/metrics`)
    })
    // Then on the port that needs none, again and again.
    await saysSoInTime(own)
    await saysSoInTime(own)

    // Once it is noticed, no key is taken from memory any more.
    await until('it is noticed', () => !hearsChanges(service))
    const times: number[] = []
    for (let i = 0; i < 3; i++) {
      const started = performance.now()
      const { status, body } = await service.call('GET', '/v1/telemetry')
      times.push(performance.now() - started)
      assert.deepEqual([status, body.error.code], [503, 'unavailable'])
    }
    // The machine may be busy: the quickest of three says how long the service takes.
    assert.ok(Math.min(...times) < WITHIN_MS, `${times.join(', ')} ms`)
  })
})

describe('the log during an outage', () => {
  test('PostgreSQL: logged once, then counted, and logged when it is over', async (t) => {
    const postgres = await startPostgres()
    const service = await startService('postgres', { DATABASE_URL: postgres.url, LOG_LEVEL: 'info' })
    t.after(async () => {
      await service.stop()
      await postgres.close()
    })
    await until('changes are heard of', () => hearsChanges(service))
    const before = linesOf(service.log()).length
    await postgres.stop()
    await until('it is noticed', () => !hearsChanges(service))
    const allBefore = service.log().length
    for (let sent = 0; sent < 100; sent++) assert.equal((await service.call('GET', '/v1/keys/self')).status, 503)
    const during = linesOf(service.log()).slice(before)
    assert.deepEqual(
      during.map(({ level, msg }) => [level, msg]),
      [['error', 'the database is not available']],
    )
    const requests =
      service
        .log()
        .slice(allBefore)
        .match(/"msg":"request"/g) ?? []
    assert.equal(requests.length, 0, 'nor does each request that it costs have a line')

    await postgres.start()
    const over = await until('it is told', () =>
      linesOf(service.log()).find(({ msg }) => msg === 'the database is available again'),
    )
    assert.equal(over.level, 'warn')
    assert.ok((over.failures ?? 0) >= 100, JSON.stringify(over))
    await until('requests are served', async () => (await service.call('GET', '/v1/keys/self')).status === 200)
    assert.match(service.log(), /"status":200.*"msg":"request"}\n$/)
  })

  test('Redis: logged when it is lost and when it is back, even if no request needs it', async (t) => {
    const redis = await startRedis()
    const service = await startService('sqlite', { REDIS_URL: redis.url })
    t.after(async () => {
      await service.stop()
      await redis.close()
    })
    const told = () => linesOf(service.log()).map(({ level, msg }) => [level, msg])
    const lost = ['warn', "Redis isn't responding, so this node limits requests to its own share"]
    const back = ['warn', 'Redis is responding again, so the nodes share their rate limits']
    await redis.stop()
    await until('the loss is told', () => told().length > 0)
    for (let sent = 0; sent < 20; sent++) await service.call('GET', '/v1/keys/self')
    assert.deepEqual(told(), [lost])
    await redis.start()
    await until('the return is told', () => told().length > 1)
    assert.deepEqual(told(), [lost, back])
  })
})
