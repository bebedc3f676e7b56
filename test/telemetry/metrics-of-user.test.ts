import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { bucketInSql, bucketOf } from '../../src/metrics/histogram.ts'
import * as metrics from '../../src/metrics/store.ts'
import { partsOf, storeOf } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines } from '../support/service/service.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

onBothEngines('the metrics of one user', (service) => {
  test('the database finds the same buckets as the program', async () => {
    const db = storeOf(service())
    const edges = Array.from({ length: 31 }, (_, power) => 2 ** power)
    const durations = [...new Set([0, ...edges.flatMap((ms) => [ms - 1, ms, ms + 1, ms + ms / 2]), 2 ** 31 - 1])]
      .filter(Number.isInteger)
      .filter((ms) => ms >= 0)
    for (const ms of durations) {
      const { rows } = await sql<{ bucket: number }>`
        select ${bucketInSql('ms')} as bucket from (select ${sql.lit(ms)} as ms) given`.execute(db)
      assert.equal(Number(rows[0]?.bucket), bucketOf(ms), `${ms} ms`)
    }
  })

  test('a run counts when it ends, also if it waited for days before', async () => {
    const script = { rules: [{ match: { contains: 'stop' }, reply: 'too late', delay_ms: 60_000 }, { reply: 'hello' }] }
    const agent = await newAgent(service(), { model: 'builtin/script', script })
    // What is cancelled does not count.
    const stopped = await service().call('POST', `/v1/agents/${agent}/invoke`, {
      body: { message: 'stop', context: { user_id: 'anna' } },
      headers: { Prefer: 'respond-async' },
    })
    const { request_id } = stopped.body.data
    const cancelled = await service().call('POST', `/v1/agents/${agent}/invocations/${request_id}/cancel`)
    assert.equal(cancelled.body.data.status, 'cancelled', cancelled.text)
    const body = { message: 'hello', context: { user_id: 'anna' } }
    for (let i = 0; i < 3; i++) await service().call('POST', `/v1/agents/${agent}/invoke`, { body })
    const db = storeOf(service())
    const ended = db.selectFrom('invocations').select(['id', 'agent_seq']).where('status', '=', 'completed')
    const [first, second] = await ended.where('user_id', '=', 'anna').execute()
    if (!first || !second) assert.fail('three runs have ended')
    // One began ten days ago, and one a year ago; both end when the third does.
    for (const [{ id }, days, ms] of [
      [first, 10, 1_000],
      [second, 365, 9_000],
    ] as const) {
      const created_at = service().now() - days * DAY_MS
      const old = partsOf(service()).newId('req', created_at)
      await db.updateTable('invocations').set({ id: old, created_at, duration_ms: ms }).where('id', '=', id).execute()
    }
    const to = Math.ceil((service().now() + 1) / MINUTE_MS)
    const range = { from: to - 60, to, step: 60 }
    const whose = { user_id: 'anna' }
    const [totals] = [...(await metrics.totals(db, first.agent_seq, range, whose)).values()]
    assert.deepEqual([totals?.count, totals?.errors, totals?.max_ms], [3, 0, 9_000])
    const [found] = [...(await metrics.percentiles(db, first.agent_seq, range, whose)).values()]
    assert.ok(Math.abs((found?.p50 ?? 0) - 1_000) < 10, JSON.stringify(found))
    assert.ok(Math.abs((found?.p95 ?? 0) - 9_000) < 80, JSON.stringify(found))
  })
})
