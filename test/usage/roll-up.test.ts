import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import * as metrics from '../../src/metrics/store.ts'
import { openJournal } from '../../src/storage/journal/journal.ts'
import type { Write } from '../../src/storage/journal/rows.ts'
import { writeRows } from '../../src/storage/journal/write-rows.ts'
import type { Storage } from '../../src/storage/open-storage.ts'
import type { LedgerLine } from '../../src/usage/ledger-line.ts'
import * as usage from '../../src/usage/store.ts'
import { listUsage } from '../../src/usage/sums.ts'
import { onBothStores } from '../support/stores/store.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const START = Date.UTC(2026, 9, 1)
/** All hours that the test writes to have ended. */
const NOW = START + 3 * DAY

const SHOWN = { project_id: 'prj_default', only: null, except: [] }
const ALL_USERS = { user_id: null }
const ROLL_UPS = [metrics.rollUp, usage.rollUp]

let lines = 0
const lineAt = (created_at: number, more: Partial<LedgerLine> = {}): LedgerLine => ({
  id: `led_${String(++lines).padStart(26, '0')}`,
  project_id: 'prj_default',
  agent_seq: 1,
  agent_id: 'agt_1',
  request_id: null,
  purpose: 'run',
  version: null,
  environment: 'production',
  key_id: 'key_1',
  person_id: null,
  user_id: null,
  door: 'api',
  step: 0,
  attempt: 1,
  model: `local/model-${lines % 3}`,
  status: 'completed',
  input_tokens: 10,
  cached_tokens: 1,
  cache_write_tokens: 2,
  output_tokens: 5,
  reasoning_tokens: 0,
  cost_nano: lines % 4 === 0 ? null : 100,
  price: null,
  created_at,
  ...more,
})

/** What a run adds that ends at this time. */
const runAt = (time: number, duration_ms: number, outcome: 'completed' | 'failed' = 'completed'): Write[] => [
  ...metrics.metricWrites({
    agent_seq: 1 + (duration_ms % 3 === 0 ? 1 : 0),
    time,
    duration_ms,
    outcome,
    environment: 'production',
    version: duration_ms % 2 === 0 ? null : 'v1',
    deployment_id: duration_ms % 2 === 0 ? null : 'dep_1',
    tokens_used: duration_ms,
    cost_nano: duration_ms % 4 === 0 ? null : 10 * duration_ms,
  }),
  ...usage.sumWrites(lineAt(time)),
]

/** Two days of runs, several in the same minutes and hours. */
const runs = () =>
  Array.from({ length: 90 }, (_, i) =>
    runAt(START + (i % 30) * 97 * MINUTE + i * 17_000, 3 + (i % 7) * 50, i % 5 === 0 ? 'failed' : 'completed'),
  )

const byTime = ([a]: [number, unknown], [b]: [number, unknown]) => a - b

/** What every reader answers, by each length of time. */
async function allReplies({ db }: Storage) {
  const replies: Record<string, unknown> = {}
  for (const step of [1, 5, 60, 24 * 60]) {
    const range = { from: START / MINUTE, to: (START + 3 * DAY) / MINUTE, step }
    const totals = await metrics.totalsOfAgents(db, [1, 2], range, ALL_USERS)
    replies[`totals ${step}`] = [1, 2].map((seq) => totals.get(seq)?.toSorted((a, b) => a.from - b.from))
    replies[`percentiles ${step}`] = [...(await metrics.percentiles(db, 1, range, ALL_USERS))].toSorted(
      ([a], [b]) => a - b,
    )
    const ofVersion = { ...ALL_USERS, version: 'v1' }
    replies[`totals of a version ${step}`] = [...(await metrics.totals(db, 1, range, ofVersion))].toSorted(byTime)
    replies[`percentiles of a version ${step}`] = [...(await metrics.percentiles(db, 1, range, ofVersion))].toSorted(
      byTime,
    )
    for (const whose of [ALL_USERS, ofVersion]) {
      replies[`spending ${step} ${JSON.stringify(whose)}`] = [
        ...(await metrics.spending(db, 1, range, whose)),
      ].toSorted(byTime)
    }
    const agents = sql<number>`(select 1 union all select 2)`
    const failing = metrics.failingAgents(db, agents, range, ALL_USERS, 5)
    const { rows } = await sql<{ agent_seq: number }>`select agent_seq from ${failing} as failing`.execute(db)
    replies[`failing ${step}`] = rows.map(({ agent_seq }) => agent_seq).toSorted()
  }
  for (const length of [HOUR, DAY]) {
    const periods = Array.from({ length: (3 * DAY) / length }, (_, i) => START + i * length)
    const wanted = { periods: periods.map((start) => ({ start, end: start + length })), filter: {}, shown: SHOWN }
    replies[`usage ${length}`] = await listUsage(db, { ...wanted, groups: ['model'] })
    replies[`usage of all projects ${length}`] = await listUsage(db, { ...wanted, groups: [], shown: undefined })
  }
  replies.models = (await usage.listModelsSince(db, SHOWN, START)).toSorted()
  return replies
}

const isRecent = async ({ db }: Storage) => {
  const recent = await db.selectFrom('version_metrics').select('start').where('minutes', '=', 0).execute()
  const sums = await db.selectFrom('usage_sums').select('start').where('hours', '=', 0).execute()
  return recent.length + sums.length > 0
}

onBothStores('sums of hours and days', (store) => {
  const rolledUp = (storage: Storage, limit: number) =>
    Promise.all(ROLL_UPS.map((rollUp) => storage.transaction((db) => rollUp(db, NOW, limit))))

  test('every reader answers the same before, during and after the roll-up, also when it dies and begins again', async () => {
    const { storage } = store()
    const journal = openJournal(storage, { backlog: 1_000 })
    await Promise.all(runs().map((writes) => journal.commit({ writes })))
    const before = await allReplies(storage)
    assert.ok(JSON.stringify(before).length > 5_000, 'there is much to answer')
    assert.notDeepEqual(before['failing 60'], [])

    for (let portions = 0; await isRecent(storage); portions++) {
      // The process dies after everything is written and before it is committed.
      await assert.rejects(
        storage.transaction(async (db) => {
          for (const rollUp of ROLL_UPS) await rollUp(db, NOW, 1_000)
          throw new Error('killed')
        }),
        /killed/,
      )
      await rolledUp(storage, 15)
      if (portions % 2 === 0) assert.deepEqual(await allReplies(storage), before)
    }
    assert.deepEqual(await allReplies(storage), before)
    assert.deepEqual(await rolledUp(storage, 1_000), [0, 0])

    // Late entries are counted immediately, and once.
    const late = runs().slice(0, 20)
    await storage.transaction((db) => writeRows(db, late.flat()))
    const more = await allReplies(storage)
    assert.notDeepEqual(more, before)
    await rolledUp(storage, 1_000)
    assert.deepEqual(await allReplies(storage), more)

    // Entries that are withdrawn or repriced are also removed from daily sums.
    const mended = lineAt(START + HOUR, { cost_nano: null })
    await storage.transaction((db) => writeRows(db, [...usage.lineWrites({ line: mended, held: undefined })]))
    await rolledUp(storage, 1_000)
    const priced = [{ line: mended, cost_nano: 7, price: '{}' }]
    assert.equal((await storage.transaction((db) => usage.updateCosts(db, priced))).length, 1)
    const repriced = await allReplies(storage)
    await rolledUp(storage, 1_000)
    assert.deepEqual(await allReplies(storage), repriced)
  })

  test('an hour that continues is left alone', async () => {
    const { storage } = store()
    await storage.transaction((db) => writeRows(db, runAt(NOW, 5)))
    assert.deepEqual(await rolledUp(storage, 1_000), [0, 0])
    const next = await Promise.all(ROLL_UPS.map((rollUp) => storage.transaction((db) => rollUp(db, NOW + HOUR, 1_000))))
    assert.deepEqual(next, [1, 1])
  })

  test('nodes that sum while others count lose nothing and count nothing twice', async () => {
    const nodes = [store().storage, await store().another()]
    const callsOf = async () => {
      const periods = [{ start: START, end: NOW }]
      const [row] = await listUsage((nodes[0] as Storage).db, { periods, groups: [], filter: {}, shown: SHOWN })
      return row?.calls ?? 0
    }
    const range = { from: START / MINUTE, to: NOW / MINUTE, step: 60 }
    const countOf = async () => {
      const totals = await metrics.totalsOfAgents((nodes[0] as Storage).db, [1, 2], range, ALL_USERS)
      return [...totals.values()].flat().reduce((sum, { count }) => sum + count, 0)
    }
    const [calls, count] = [await callsOf(), await countOf()]
    let isWriting = true
    const summing = nodes.map(async (storage) => {
      while (isWriting) await rolledUp(storage, 7)
    })
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        nodes.map((storage) => {
          const journal = openJournal(storage, { backlog: 1_000 })
          return Promise.all(runs().map((writes) => journal.commit({ writes })))
        }),
      )
    }
    isWriting = false
    await Promise.all(summing)
    const written = 10 * nodes.length * runs().length
    assert.deepEqual([await callsOf(), await countOf()], [calls + written, count + written])
    while (await isRecent(nodes[0] as Storage)) {
      if ((await rolledUp(nodes[0] as Storage, 1_000)).every((moved) => moved === 0)) break
    }
    assert.deepEqual([await callsOf(), await countOf()], [calls + written, count + written])
  })
})
