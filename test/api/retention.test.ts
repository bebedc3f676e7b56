import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as agents from '../../src/agents/store.ts'
import { createLog } from '../../src/lib/log.ts'
import { logWrites } from '../../src/logs/store.ts'
import * as metrics from '../../src/metrics/store.ts'
import { type Sweepable, sweep } from '../../src/storage/jobs/sweep.ts'
import type { Write } from '../../src/storage/journal/rows.ts'
import * as claims from '../../src/storage/leases/claims.ts'
import * as usage from '../../src/usage/store.ts'
import { partsOf, wakeJobs } from '../support/inside.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { until as untilTrue } from '../support/running/until.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { approver, decide, refundingAgent, startWaiting, untilStatus } from '../support/slices/approvals.ts'
import { createAgent } from '../support/slices/resources.ts'
import { onBothStores } from '../support/stores/store.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const ANSWERED = { environment: 'production', version: null, deployment_id: null, tokens_used: 3, cost_nano: 0 }

onAnyEngine(
  'retention',
  (service) => {
    const parts = () => partsOf(service())
    const newAgent = async (name: string) => {
      const { body } = await service().call('POST', '/v1/agents', { body: { name } })
      return agents.get(parts().storage.db, body.data.id)
    }
    const logged = (agent_seq: number, timestamp: number, count = 1): Write[] => {
      const entry = { timestamp, level: 'info' as const, message: 'm', metadata: {} }
      const entries = Array.from({ length: count }, () => entry)
      return logWrites({ agent_seq, request_id: 'req_1' }, entries)
    }
    const measured = (agent_seq: number, time: number) =>
      metrics.metricWrites({ ...ANSWERED, agent_seq, time, duration_ms: 5, outcome: 'completed' })
    type CountedTable = 'logs' | 'metrics' | 'version_metrics'
    const count = async (table: CountedTable, seq: number): Promise<number> => {
      const rows = await parts().storage.db.selectFrom(table).select('agent_seq').where('agent_seq', '=', seq).execute()
      return rows.length
    }
    const until = (holds: () => Promise<boolean>) => untilTrue('what the test waits for', holds)
    const retentionEnded = async (before: number) => {
      const { db } = parts().storage
      await until(async () => {
        const job = await db.selectFrom('jobs').selectAll().where('kind', '=', 'retention').executeTakeFirst()
        return job?.owner === null && job.run_at > before + HOUR / 2
      })
    }

    test('data older than its setting is deleted every hour, and the rest stays', async () => {
      const { now, journal, storage } = parts()
      const { seq } = await newAgent('aging')
      await retentionEnded(now())
      const time = now()
      await journal.commit({
        writes: [
          ...logged(seq, time - 4 * HOUR, 2_500),
          ...logged(seq, time),
          ...measured(seq, time - 6 * HOUR),
          ...measured(seq, time),
        ],
      })
      const claim = (key: string, at: number) => {
        const lease = { key: ['key_1', key], owner: 'o', until: at + 30_000 }
        return claims.claim(storage.db, lease, { fingerprint: 'f', project_id: 'prj_default', request_id: 'req_1' }, at)
      }
      await claim('old', time - 25 * HOUR)
      await claim('k', time)
      assert.deepEqual([await count('logs', seq), await count('version_metrics', seq)], [2_501, 2])

      service().advance(1.01 * HOUR)
      wakeJobs(service())
      await retentionEnded(now())
      assert.deepEqual(
        [await count('logs', seq), await count('metrics', seq), await count('version_metrics', seq)],
        [1, 2, 2],
      )
      const left = await storage.db.selectFrom('claims').select('key').where('scope', '=', 'key_1').execute()
      assert.deepEqual(left, [{ key: 'k' }])
    })

    test('log entries that were stored after younger ones, as by an import, go by their own time', async () => {
      const { now, journal } = parts()
      const [young, imported] = [await newAgent('young'), await newAgent('imported')]
      await retentionEnded(now())
      await journal.commit({ writes: logged(young.seq, now(), 1_100) })
      await journal.commit({
        writes: [...logged(imported.seq, now() - 4 * HOUR, 1_100), ...logged(imported.seq, now())],
      })
      service().advance(1.01 * HOUR)
      wakeJobs(service())
      await retentionEnded(now())
      assert.deepEqual([await count('logs', young.seq), await count('logs', imported.seq)], [1_100, 1])
    })

    test("a deleted agent's logs and metrics go at once, others' stay", async () => {
      const { now, journal, storage } = parts()
      const gone = await newAgent('gone')
      const stays = await newAgent('stays')
      const writes = [gone.seq, stays.seq].flatMap((seq) => [...logged(seq, now(), 1_200), ...measured(seq, now())])
      await journal.commit({ writes })
      await storage.transaction((db) => metrics.rollUp(db, now() + MINUTE, 1_000))
      await journal.commit({ writes: [gone.seq, stays.seq].flatMap((seq) => measured(seq, now())) })
      assert.equal((await service().call('DELETE', '/v1/agents/gone')).status, 200)
      assert.equal((await service().call('GET', '/v1/agents/gone/logs')).status, 404)
      const all = ['logs', 'metrics', 'version_metrics'] as const
      const counts = (seq: number) => Promise.all(all.map((table) => count(table, seq)))
      await until(async () => (await counts(gone.seq)).every((rows) => rows === 0))
      assert.deepEqual(await counts(stays.seq), [1_200, 2, 3])
    })

    test('runs that wait for a person stay until they are decided, however old they are', async () => {
      const { now } = parts()
      const agent = await createAgent(service(), 'patient', refundingAgent({ url: NOWHERE }))
      const [waiting, decided] = [await startWaiting(service(), agent, 'a'), await startWaiting(service(), agent, 'b')]
      const key = await approver(service())
      assert.equal((await decide(service(), decided.approval, key, { decision: 'reject' })).status, 200)
      await untilStatus(service(), decided.path, 'completed')
      await retentionEnded(now())
      service().advance(5 * HOUR)
      wakeJobs(service())
      await retentionEnded(now())
      for (const path of [decided.path, decided.approval]) assert.equal((await service().call('GET', path)).status, 404)
      const { body } = await service().call('GET', '/v1/approvals?status=pending', { key })
      assert.deepEqual(
        body.data.map(({ request_id }: { request_id: string }) => request_id),
        [waiting.request_id],
      )
      assert.equal((await decide(service(), waiting.approval, key, { decision: 'reject' })).status, 200)
      await untilStatus(service(), waiting.path, 'completed')

      const isThere = async () => {
        const replies = await Promise.all([waiting.path, waiting.approval].map((path) => service().call('GET', path)))
        return replies.map(({ status }) => status)
      }
      service().advance(HOUR + 1_000)
      wakeJobs(service())
      await retentionEnded(now())
      assert.deepEqual(await isThere(), [200, 200], 'what came of it is kept for its time from the end on')
      service().advance(5 * HOUR)
      wakeJobs(service())
      await retentionEnded(now())
      assert.deepEqual(await isThere(), [404, 404])
    })

    test("a day's usage is kept until the whole day is old enough", async () => {
      const { id } = await newAgent('spender')
      await service().call('POST', `/v1/agents/${id}/invoke`, { body: { message: 'hi' } })
      const { now, storage } = parts()
      const day = Math.floor(now() / (24 * HOUR)) * 24 * HOUR
      const calls = async (granularity: string) => {
        const [from, to] = [day, day + 24 * HOUR].map((time) => new Date(time).toISOString())
        const { body } = await service().call('GET', `/v1/usage?agent_id=${id}&from=${from}&to=${to}&${granularity}`)
        return body.data.totals.calls
      }
      await storage.transaction((db) => usage.rollUp(db, day + 24 * HOUR, 1_000))
      // An hour is deleted at its end, so of the current day only the daily sum remains.
      await usage.remove(storage.db, day + 24 * HOUR - 1, 1_000)
      assert.equal(await calls('granularity=day'), 1)
      await usage.remove(storage.db, day + 24 * HOUR, 1_000)
      assert.deepEqual([await calls('granularity=day'), await calls('granularity=hour')], [0, 0])
    })
  },
  { MOORAGE_RETENTION__LOGS: '3h', MOORAGE_RETENTION__METRICS: '5h', MOORAGE_RETENTION__INVOCATIONS: '4h' },
)

onBothStores('a sweep', (store) => {
  const log = createLog({ level: 'silent', format: 'json' })
  const { signal } = new AbortController()
  /** Has this many rows left to delete, and records each request. */
  const rows = (left: number, asked: [before: number, removed: number][]): Sweepable['remove'] => {
    let remaining = left
    return async (_db, before, limit) => {
      const removed = Math.min(remaining, limit)
      remaining -= removed
      asked.push([before, removed])
      return removed
    }
  }

  test("continues in batches until nothing is left, with each kind's own retention", async () => {
    const asked: [before: number, removed: number][] = []
    const { run } = sweep({ storage: store().storage, now: () => 10_000, log }, [
      { name: 'many', keep_ms: 1_000, remove: rows(2_001, asked) },
      { name: 'none', keep_ms: 4_000, remove: rows(0, asked) },
    ])
    await run(signal)
    const ofMany = asked.filter(([before]) => before === 9_000).map(([, removed]) => removed)
    assert.equal(
      ofMany.reduce((sum, removed) => sum + removed),
      2_001,
    )
    assert.equal(ofMany.at(-1), 0)
    assert.ok(Math.max(...ofMany) <= 1_000)
    assert.deepEqual(asked.slice(ofMany.length), [[6_000, 0]])
  })

  test('deletes as much as it can in a few milliseconds, then pauses for longer than that', async () => {
    const bites: { at: number; limit: number; tookMs: number }[] = []
    // A row takes a fifth of a millisecond, so a request might have to wait that long per row.
    const slow: Sweepable['remove'] = async (_db, _before, limit) => {
      const at = performance.now()
      while (performance.now() - at < limit / 5);
      bites.push({ at, limit, tookMs: performance.now() - at })
      return bites.length < 30 ? limit : 0
    }
    const { run } = sweep({ storage: store().storage, now: () => 0, log }, [{ name: 'slow', keep_ms: 0, remove: slow }])
    await run(signal)
    assert.ok(
      bites.every(({ limit }) => limit <= 50),
      JSON.stringify(bites),
    )
    const worked = bites.reduce((sum, { tookMs }) => sum + tookMs, 0)
    const lasted = (bites.at(-1)?.at ?? 0) - (bites[0]?.at ?? 0)
    assert.ok(worked < lasted / 2, `${worked} of ${lasted} ms`)
  })

  test('a failure for one kind does not skip the next', async () => {
    const asked: [before: number, removed: number][] = []
    const failing = async () => {
      throw new Error('disk full')
    }
    const { run } = sweep({ storage: store().storage, now: () => 0, log }, [
      { name: 'bad', keep_ms: 0, remove: failing },
      { name: 'good', keep_ms: 0, remove: rows(1, asked) },
    ])
    await assert.rejects(run(signal), /^Error: disk full$/)
    assert.equal(asked.length, 2)
  })

  test('stops between batches when it is aborted', async () => {
    const stop = new AbortController()
    let batches = 0
    const { run } = sweep({ storage: store().storage, now: () => 0, log }, [
      {
        name: 'endless',
        keep_ms: 0,
        async remove() {
          if (++batches === 3) stop.abort(new Error('enough'))
          return 1
        },
      },
    ])
    await assert.rejects(run(stop.signal), /enough/)
    assert.equal(batches, 3)
  })
})
