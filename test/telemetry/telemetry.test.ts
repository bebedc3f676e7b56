import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statfsSync } from 'node:fs'
import { get } from 'node:http'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import project from '../../package.json' with { type: 'json' }
import { readSamples } from '../support/clients/prometheus.ts'
import { readDeployFile } from '../support/house/deploy-files.ts'
import { liveRuns, partsOf, storageOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until, untilHolds } from '../support/running/until.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { ANY_ENGINE, type Service, startService, withService } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { download, uploaded } from '../support/slices/files.ts'
import { newRemoteAgent, setRemoteSecret, startRemote } from '../support/slices/remote-agents.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'
import { createWebhook, delivery, LOCAL_RECEIVERS, openInbox, pass } from '../support/slices/webhooks.ts'
import { startRedis } from '../support/stores/redis.ts'

/** Every sample by its name and labels. */
function parseText(text: string): Map<string, number> {
  return new Map(
    readSamples(text).map(({ name, labels, value }) => {
      const pairs = Object.entries(labels).map(([label, of]) => `${label}="${of}"`)
      return [pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`, value]
    }),
  )
}

const { version } = project

/** On a busy machine the first look-up of a key may take as long as one in a database that hangs, which is 503. */
function metricsOf(service: Service) {
  return until('telemetry', async () => {
    const reply = await service.call('GET', '/metrics')
    if (reply.status !== 503) assert.equal(reply.status, 200, reply.text)
    return reply.status === 200 ? reply : undefined
  })
}

async function scrape(service: Service): Promise<Map<string, number>> {
  const { headers, text } = await metricsOf(service)
  assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  return parseText(text)
}

for (const engine of ANY_ENGINE) {
  describe(`telemetry on ${engine}`, () => {
    test('counts requests by operation and status, runs, tokens, commits and look-ups', () =>
      withService(engine, async (service) => {
        const before = await scrape(service)
        for (const message of ['one', 'two']) {
          await service.call('POST', '/v1/agents/hello/invoke', { body: { message } })
        }
        await service.call('POST', '/v1/agents/hello/invoke', { body: {} })
        await service.call('GET', '/v1/agents', { key: null })
        const id = await uploaded(service, 'ahoy')
        const { headers } = await download(service, id, { headers: { Range: 'bytes=0-1' } })
        await download(service, id, { headers: { 'If-None-Match': headers.get('etag') ?? '' } })
        await download(service, id, { headers: { Range: 'bytes=9-' } })
        const after = await scrape(service)
        const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
        assert.equal(grown('moorage_http_requests_total{operation="invokeAgent",status="200"}'), 2)
        assert.equal(grown('moorage_http_requests_total{operation="invokeAgent",status="400"}'), 1)
        assert.equal(grown('moorage_http_requests_total{operation="listAgents",status="401"}'), 1)
        // Each request is counted once, with the status that its client got.
        for (const [status, times] of [
          [200, 0],
          [206, 1],
          [304, 1],
          [416, 1],
        ] as const) {
          assert.equal(grown(`moorage_http_requests_total{operation="getFileContent",status="${status}"}`), times)
        }
        assert.equal(grown('moorage_http_request_duration_seconds_count{operation="invokeAgent"}'), 3)
        assert.equal(grown('moorage_http_request_duration_seconds_bucket{operation="invokeAgent",le="+Inf"}'), 3)
        assert.equal(grown('moorage_runs_total{status="completed",kind="model"}'), 2)
        assert.ok(grown('moorage_tokens_total{direction="in"}') > 0)
        assert.ok(grown('moorage_journal_batch_entries_sum') >= 2)
        // Prometheus counts what is at the limit of a bucket in that bucket.
        assert.ok(grown('moorage_journal_batch_entries_bucket{le="1"}') > 0)
        assert.ok(grown('moorage_cache_lookups_total{cache="snapshots",result="hit"}') > 0)
        const { node } = process.versions
        const { commit } = partsOf(service).version
        assert.equal(
          after.get(`moorage_info{version="${version}",commit="${commit}",node_version="${node}",engine="${engine}"}`),
          1,
        )
        const { bsize, blocks, bavail } = statfsSync(service.data)
        assert.equal(after.get('moorage_disk_size_bytes'), bsize * blocks)
        // Others write to the disk as well.
        const free = (after.get('moorage_disk_free_bytes') ?? 0) / bsize
        assert.ok(Math.abs(free - bavail) < blocks / 10, `${free} of ${bavail} blocks`)
        assert.ok((after.get('process_open_fds') ?? 0) < (after.get('process_max_fds') ?? 0))
        // The service's own work may use the database just now, and a database that is slow to answer counts as down.
        await untilHolds(async () => {
          const calm = await scrape(service)
          assert.deepEqual([calm.get('moorage_database_up'), calm.get('moorage_database_waiting')], [1, 0])
          assert.ok((calm.get('moorage_database_connections{state="idle"}') ?? 0) > 0)
        })
        assert.ok((after.get('process_resident_memory_bytes') ?? 0) > 10_000_000)
      }))

    test('counts the runs of remote agents apart, also those in the background', async (t) => {
      const remote = await startRemote()
      t.after(remote.close)
      remote.answer(() => 'Calm.')
      const story = async (service: Service) => {
        await setRemoteSecret(service)
        const agent = await newRemoteAgent(service, remote.url)
        const before = await scrape(service)
        for (const headers of [{}, { Prefer: 'respond-async' }]) {
          await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
        }
        await untilHolds(async () => {
          const after = await scrape(service)
          const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
          assert.equal(grown('moorage_runs_total{status="completed",kind="remote"}'), 2)
          assert.equal(grown('moorage_runs_total{status="completed",kind="model"}'), 0)
        })
      }
      await withService(engine, story, LOCAL_TOOLS)
    })

    test('reports how long requests, commits and calls to others took, in seconds', async (t) => {
      const held = await holdRuns(t)
      held.release()
      const story = async (service: Service) => {
        await createAgent(service, 'caller', held.agent)
        const before = await scrape(service)
        const started = performance.now()
        const reply = await service.call('POST', '/v1/agents/caller/invoke', { body: { message: 'go' } })
        assert.deepEqual([reply.status, held.count()], [200, 1], reply.text)
        const after = await scrape(service)
        const passed = (performance.now() - started) / 1000
        for (const name of [
          'moorage_http_request_duration_seconds_sum{operation="invokeAgent"}',
          'moorage_outgoing_call_duration_seconds_sum{kind="tool"}',
          'moorage_journal_commit_duration_seconds_sum',
        ]) {
          const took = (after.get(name) ?? 0) - (before.get(name) ?? 0)
          assert.ok(took > 0 && took <= passed, `${name} has grown by ${took} in ${passed} s`)
        }
      }
      await withService(engine, story, LOCAL_TOOLS)
    })

    test('counts a run once, where its end is written, and the tokens of each attempt', async (t) => {
      const { service, model, stop } = await startWithModel(engine)
      t.after(stop)
      await createAgent(service, 'mover', { model: 'local/tiny' })
      const answer = (prompt_tokens: number) => ({ text: ['found'], usage: { prompt_tokens, completion_tokens: 1 } })
      model.reply(answer(100), answer(20))
      const { promise: taken, resolve: letGo } = Promise.withResolvers<void>()
      model.holdNext(taken)
      const asked = model.nextRequest()
      const { body } = await service.call('POST', '/v1/agents/mover/invoke', {
        body: { message: 'go' },
        headers: { Prefer: 'respond-async' },
      })
      await asked
      // Another node takes the run over just before its end, and dies.
      const storage = storageOf(service)
      const { live } = partsOf(service)
      const id = body.data.request_id
      const moved = { owner: 'another node', lease_until: 1 }
      await storage.db.updateTable('runs').set(moved).where('id', '=', id).execute()
      letGo()
      await until('it is left', () => live.find(id) === undefined)
      const completed = 'moorage_runs_total{status="completed",kind="model"}'
      const tokens = 'moorage_tokens_total{direction="in"}'
      const first = await scrape(service)
      assert.deepEqual([first.get(completed) ?? 0, first.get(tokens)], [0, 100])
      wakeJobs(service)
      await until('the end', async () => {
        const { data } = (await service.call('GET', `/v1/agents/mover/invocations/${id}`)).body
        return data.status === 'completed' && data.usage.input_tokens === 20
      })
      await until('it is left', () => live.find(id) === undefined)
      const both = await scrape(service)
      assert.deepEqual([both.get(completed), both.get(tokens)], [1, 120])
    })

    test('reports how much waits in the queues, and since when', () =>
      withService(engine, async (service) => {
        const script = { rules: [{ reply: 'at last', delay_ms: 60_000 }] }
        await createAgent(service, 'slow', { model: 'builtin/script', script, limits: { max_concurrency: 1 } })
        const ask = (message: string) =>
          service.call('POST', '/v1/agents/slow/invoke', { body: { message }, headers: { Prefer: 'respond-async' } })
        await ask('runs')
        await until('it runs', () => liveRuns(service).some(({ began }) => began))
        await ask('waits')
        await ask('waits too')
        const samples = await scrape(service)
        assert.equal(samples.get('moorage_queue_depth{queue="runs"}'), 2)
        assert.equal(samples.get('moorage_leases{queue="runs"}'), 1)
        assert.equal(samples.get('moorage_runs_live'), 1)
        assert.equal(samples.get('moorage_queue_depth{queue="deliveries"}'), 0)
        service.advance(5_000)
        const waited = (await scrape(service)).get('moorage_queue_oldest_seconds{queue="runs"}') ?? 0
        assert.ok(waited >= 5 && waited < 1_000, `${waited} s`)
      }))

    test('a delivery waits for a node only when its next attempt is due', async (t) => {
      const gate = Promise.withResolvers<void>()
      t.after(() => gate.resolve())
      let attempts = 0
      const inbox = await openInbox(t, async (_arrival, _request, response) => {
        response.statusCode = 503
        if (attempts++ > 0) await gate.promise
      })
      const story = async (service: Service) => {
        const queue = async () => (await service.call('GET', '/v1/system')).body.data.queues[1]
        await createAgent(service, 'told')
        const { id } = await createWebhook(service, { url: inbox.url })
        service.holdClock()
        await service.call('POST', '/v1/agents/told/invoke', { body: { message: 'go' } })
        await delivery(service, id, 1)
        assert.deepEqual(await queue(), { queue: 'deliveries', waiting: 0, leased: 0, oldest: null })
        pass(service, 3_600_000)
        await inbox.first(2)
        assert.deepEqual(await queue(), { queue: 'deliveries', waiting: 0, leased: 1, oldest: null })
        gate.resolve()
        await delivery(service, id, 2)
      }
      await withService(engine, story, LOCAL_RECEIVERS)
    })
  })
}

describe('GET /metrics', () => {
  test('requires a key with manage', () =>
    withService('sqlite', async (service) => {
      const viewer = await createKey(service, { permissions: ['read', 'write', 'delete'] })
      assert.equal((await service.call('GET', '/metrics', { key: null })).status, 401)
      const refused = await service.call('GET', '/metrics', { key: viewer.secret })
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
      const agent_id = await createAgent(service, 'one')
      const scoped = await createKey(service, { role: 'admin', agent_id })
      assert.equal((await service.call('GET', '/metrics', { key: scoped.secret })).status, 403)
      assert.equal((await service.call('GET', '/v1/telemetry', { key: scoped.secret })).status, 403)
    }))

  test('contains the same values as GET /v1/telemetry', () =>
    withService('sqlite', async (service) => {
      const { body } = await service.call('GET', '/v1/telemetry')
      const names = body.data.readings.flatMap(({ samples }: { samples: { name: string }[] }) =>
        samples.map(({ name }) => name),
      )
      // What takes long to compute is left out of a scrape.
      await untilHolds(async () => {
        const found = new Set([...(await scrape(service)).keys()].map((sample) => sample.replace(/\{.*/, '')))
        for (const name of names) assert.ok(found.has(name), name)
      })
    }))

  test('contains no agent, user or key in labels, which have few values', () =>
    withService('sqlite', async (service) => {
      await createAgent(service, 'harbour-pilot')
      const context = { user_id: 'user-of-labels', session_id: 'session-of-labels' }
      await service.call('POST', '/v1/agents/harbour-pilot/invoke', { body: { message: 'hello', context } })
      await service.call('GET', '/v1/agents/harbour-pilot-who-is-not-there')
      await service.call('GET', '/nowhere/at/all')
      const text = [...(await scrape(service)).keys()].join('\n')
      assert.doesNotMatch(text, /harbour|of-labels|nowhere|mrg_|agt_|key_/)
      // Prometheus keeps that label for summaries, and we have none.
      assert.doesNotMatch(text, /quantile/)
    }))

  test('escapes any text in a label so that Prometheus reads it unchanged', () =>
    withService('sqlite', async (service) => {
      const of = 'a "quoted" \\ word\nand a line'
      partsOf(service).telemetry.gauge('moorage_odd', 'Odd', () => [{ labels: { of }, value: 1 }])
      const { text } = await metricsOf(service)
      const odd = readSamples(text).find(({ name }) => name === 'moorage_odd')
      // These are escaped as in JSON.
      assert.equal(JSON.parse(`"${odd?.labels['of']}"`), of)
    }))

  test('needs no key on its own port, which serves nothing else', async (t) => {
    const service = await startService('sqlite', { MOORAGE_SERVER__METRICS_PORT: '0' })
    t.after(() => service.stop())
    const [, port] = /"port":(\d+),"msg":"Prometheus/.exec(service.log()) ?? assert.fail(service.log())
    const own = await fetch(`http://127.0.0.1:${port}/metrics`)
    assert.ok(parseText(await own.text()).has('moorage_runs_live'))
    assert.equal((await fetch(`http://127.0.0.1:${port}/v1/agents`)).status, 404)
    assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status, 404)
    const statusFor = async (host: string) => {
      const asked = get(`http://127.0.0.1:${port}/metrics`, { headers: { host } })
      const [answer] = await once(asked, 'response')
      return answer.resume().statusCode
    }
    for (const here of [`localhost:${port}`, `[::1]:${port}`]) assert.equal(await statusFor(here), 200, here)
    assert.equal(await statusFor(`rebound.example:${port}`), 421)
  })
})

describe('deploy/grafana/moorage.json', () => {
  const { panels } = JSON.parse(readDeployFile('grafana/moorage.json')) as {
    panels: { title: string; targets?: { expr: string }[] }[]
  }
  const asked = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  /** The series in an expression. Prometheus makes `up` itself. */
  const seriesIn = (expr: string) => expr.match(/\b(?:(?:moorage|process|nodejs)_\w+|up(?=\{))/g) ?? []

  test('uses only metrics that the service exports', async (t) => {
    const redis = await startRedis()
    t.after(() => redis.close())
    await withService(
      'sqlite',
      async (service) => {
        const { body } = await service.call('GET', '/v1/telemetry')
        const known = new Set(['up', ...body.data.readings.map(({ name }: { name: string }) => name)])
        assert.ok(asked.length >= 10)
        for (const expr of asked) {
          const names = seriesIn(expr)
          assert.ok(names.length > 0, expr)
          for (const name of names) assert.ok(known.has(name.replace(/_(?:bucket|sum|count)$/, '')), name)
        }
      },
      { REDIS_URL: redis.url },
    )
  })

  test('shows every series that an alert is about', () => {
    const { groups } = parse(readDeployFile('prometheus/moorage.rules.yaml')) as {
      groups: { rules: { alert: string; expr: string }[] }[]
    }
    const shown = new Set(asked.flatMap(seriesIn))
    for (const { alert, expr } of groups.flatMap(({ rules }) => rules)) {
      assert.ok(seriesIn(expr).length > 0, alert)
      for (const name of seriesIn(expr)) assert.ok(shown.has(name), `${name} of ${alert} is on no panel`)
    }
  })
})
