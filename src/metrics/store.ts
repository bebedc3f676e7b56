import { type AliasableExpression, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../lib/id.ts'
import type { Cost } from '../runtime/models/usage.ts'
import type { Database } from '../storage/database.ts'
import { bulkTable } from '../storage/journal/bulk-table.ts'
import type { BulkTable, Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import { removeRowsOfMissingAgents } from '../storage/queries/missing-agents.ts'
import { removeRows, takeRows } from '../storage/queries/remove-rows.ts'
import {
  type BucketCount,
  bucketsOf,
  type Counted,
  endedOf,
  HOUR,
  isServedBy,
  RECENT,
  SPENT,
  stepOf,
  sumsOf,
  versionsOf,
} from './counted-rows.ts'
import { bucketOf, middleOf } from './histogram.ts'
import type { Percentiles, Rated, Spent, Totals } from './metric.ts'
import { MINUTE_MS, type Range } from './range.ts'

/**
 * A run adds to one recent row. The others are written by `rollUp`, and until then every reader adds the recent ones.
 * `recent_metrics` and `metric_buckets` have what nodes of 0.1.0 have counted; nothing new is added to the histogram.
 */
const SUMMED = { add: ['count', 'errors', 'sum_ms'], max: ['max_ms'] }
const VERSIONS = bulkTable('version_metrics', { merge: { ...SUMMED, add: [...SUMMED.add, ...SPENT] } })
const METRICS = bulkTable('metrics', { merge: SUMMED })
const BUCKETS = bulkTable('metric_buckets', { merge: { add: ['count'] } })

type Sample = {
  agent_seq: number
  /** The time at which the invocation ended. */
  time: number
  duration_ms: number
  outcome: 'completed' | 'failed' | 'cancelled'
  environment: string
  version: string | null
  deployment_id: string | null
  tokens_used: number
  cost_nano: Cost
}

/**
 * What an invocation adds to its agent's metrics, for the journal. A cancelled one adds nothing: no client waited for its
 * answer.
 */
export function metricWrites({ agent_seq, time, duration_ms, outcome, environment, ...of }: Sample): Write[] {
  if (outcome === 'cancelled') return []
  const ms = Math.max(0, Math.round(duration_ms))
  const row = {
    agent_seq,
    minutes: RECENT,
    start: Math.floor(time / MINUTE_MS),
    environment,
    version: of.version ?? '',
    deployment_id: of.deployment_id ?? '',
    bucket: bucketOf(ms),
    count: 1,
    errors: outcome === 'failed' ? 1 : 0,
    sum_ms: ms,
    max_ms: ms,
    tokens: of.tokens_used,
    cost_nano: of.cost_nano ?? 0,
    unpriced: of.cost_nano === null ? 1 : 0,
  }
  return [{ into: VERSIONS, row }]
}

/**
 * Moves at most `limit` rows of minutes that have ended into the sums of minutes and hours; returns how many. A row is
 * removed in the transaction that adds it to the sums, so it counts once, whenever the process dies. An invocation whose
 * entry comes later makes a row again.
 */
export async function rollUp(db: Database, before: number, limit: number): Promise<number> {
  const hasEnded = sql<SqlBool>`start < ${Math.floor(before / MINUTE_MS)}`
  const isRecent = sql<SqlBool>`minutes = ${sql.lit(RECENT)} and ${hasEnded}`
  const rows = await takeRows(db, 'version_metrics', { which: isRecent, limit })
  const older = await takeRows(db, 'recent_metrics', { which: hasEnded, limit })
  const sumsOfRow = <Row extends { start: number }>({ start, ...row }: Row, tables: readonly BulkTable[]) =>
    [1, HOUR].flatMap((minutes) =>
      tables.map((into) => ({ into, row: { ...row, minutes, start: start - (start % minutes) } })),
    )
  await writeRows(db, [
    ...rows.flatMap((row) => sumsOfRow(row, [METRICS, VERSIONS])),
    ...older.flatMap((row) => sumsOfRow(row, [METRICS, BUCKETS])),
  ])
  return rows.length + older.length
}

const SUMS = [
  sql<number>`sum(count)`.as('count'),
  sql<number>`sum(errors)`.as('errors'),
  sql<number>`sum(sum_ms)`.as('sum_ms'),
  sql<number>`max(max_ms)`.as('max_ms'),
] as const

/** The totals by the first minute of each step. Steps without an invocation are absent. */
export async function totals(
  db: Database,
  agent_seq: number,
  range: Range,
  whose: Counted,
): Promise<Map<number, Totals>> {
  const found = (await totalsOfAgents(db, [agent_seq], range, whose)).get(agent_seq) ?? []
  return new Map(found.map(({ from, count, errors, sum_ms, max_ms }) => [from, { count, errors, sum_ms, max_ms }]))
}

/** The totals of several agents, by the first minute of each step. */
export async function totalsOfAgents(
  db: Database,
  agent_seqs: number[],
  range: Range,
  whose: Counted,
): Promise<Map<number, (Totals & { from: number })[]>> {
  if (agent_seqs.length === 0) return new Map()
  const step = stepOf(range)
  const rows = await db
    .selectFrom(sumsOf(db, agent_seqs, range, whose).as('counted'))
    .select(['agent_seq', step.as('from'), ...SUMS])
    .groupBy(['agent_seq', step])
    .execute()
  return Map.groupBy(rows, ({ agent_seq }) => agent_seq)
}

/** The agents among these of whose invocations in the range at least one in `oneIn` failed. */
export function failingAgents(
  db: Database,
  agents: Expression<number>,
  range: Range,
  whose: Counted,
  oneIn: number,
): Expression<number> {
  return db
    .selectFrom(sumsOf(db, agents, range, whose).as('counted'))
    .select('agent_seq')
    .groupBy('agent_seq')
    .having(sql<SqlBool>`sum(errors) > 0 and sum(errors) * ${sql.lit(oneIn)} >= sum(count)`)
    .$asScalar()
}

/** The percentiles by the first minute of each step. */
export async function percentiles(
  db: Database,
  agent_seq: number,
  range: Range,
  whose: Counted,
): Promise<Map<number, Percentiles>> {
  return ranked(db, bucketsOf(db, [agent_seq], range, whose), stepOf(range))
}

/** The percentiles of several agents over the whole range. */
export async function percentilesOfAgents(
  db: Database,
  agent_seqs: number[],
  range: Range,
  whose: Counted,
): Promise<Map<number, Percentiles>> {
  if (agent_seqs.length === 0) return new Map()
  return ranked(db, bucketsOf(db, agent_seqs, range, whose), sql<number>`agent_seq`)
}

/**
 * The database finds the buckets: a range of many steps has hundreds of thousands of counts, which would delay the
 * thread that answers HTTP.
 */
async function ranked(
  db: Database,
  counted: AliasableExpression<BucketCount>,
  part: RawBuilder<number>,
): Promise<Map<number, Percentiles>> {
  const summed = db
    .selectFrom(counted.as('counted'))
    .select([part.as('part'), 'bucket', sql<number>`sum(count)`.as('count')])
    .groupBy([part, 'bucket'])
  const passed = db
    .selectFrom(summed.as('summed'))
    .select([
      'part',
      'bucket',
      sql<number>`sum(count) over (partition by part order by bucket)`.as('passed'),
      sql<number>`sum(count) over (partition by part)`.as('total'),
    ])
  // Nearest rank: the first bucket up to which that share of all is counted.
  const at = (percent: number) =>
    sql<number>`min(case when passed * 100 >= ${sql.lit(percent)} * total then bucket end)`
  const rows = await db
    .selectFrom(passed.as('passed'))
    .select(['part', at(50).as('p50'), at(95).as('p95'), at(99).as('p99')])
    .groupBy('part')
    .execute()
  return new Map(
    rows.map(({ part: of, p50, p95, p99 }) => [of, { p50: middleOf(p50), p95: middleOf(p95), p99: middleOf(p99) }]),
  )
}

/** What the invocations used, by the first minute of each step. Steps without an invocation are absent. */
export async function spending(
  db: Database,
  agent_seq: number,
  range: Range,
  whose: Counted,
): Promise<Map<number, Spent>> {
  const columns = ['start', 'count', ...SPENT] as const
  const step = stepOf(range)
  const counted =
    whose.user_id === null
      ? versionsOf(db, [agent_seq], range, whose).select(columns)
      : db
          .selectFrom(
            endedOf(db, [agent_seq], range, whose.user_id, whose).select(['tokens_used', 'cost_nano']).as('ended'),
          )
          .select([
            'start',
            sql<number>`1`.as('count'),
            'tokens_used as tokens',
            sql<number>`coalesce(cost_nano, 0)`.as('cost_nano'),
            sql<number>`case when cost_nano is null then 1 else 0 end`.as('unpriced'),
          ])
  const rows = await db
    .selectFrom((counted as AliasableExpression<Spent & { start: number }>).as('counted'))
    .select([
      step.as('from'),
      ...(['count', ...SPENT] as const).map((name) => sql<number>`sum(${sql.ref(name)})`.as(name)),
    ])
    .groupBy(step)
    .execute()
  return new Map(rows.map(({ from, ...spent }) => [from, spent]))
}

/** The feedback that was first given in each step, whatever its key. */
export async function feedback(
  db: Database,
  agent_seq: number,
  range: Range,
  whose: Counted,
): Promise<Map<number, Rated>> {
  let given = db
    .selectFrom('feedback')
    .select([sql<number>`created_at / ${sql.lit(MINUTE_MS)}`.as('start'), 'score_millionths'])
    .where('agent_seq', '=', agent_seq)
    // Ids begin with the time at which it was given.
    .where('id', '>=', firstIdAt('fbk', range.from * MINUTE_MS))
    .where('id', '<', firstIdAt('fbk', range.to * MINUTE_MS))
    .where(isServedBy(whose))
  if (whose.user_id !== null) given = given.where('user_id', '=', whose.user_id)
  const step = stepOf(range)
  const rows = await db
    .selectFrom(given.as('given'))
    .select([
      step.as('from'),
      sql<number>`count(*)`.as('count'),
      sql<number>`sum(score_millionths)`.as('score_millionths'),
    ])
    .groupBy(step)
    .execute()
  return new Map(rows.map(({ from, ...rated }) => [from, rated]))
}

/** Removes rows that are older, at most `limit` from each table. Returns how many. */
export function remove(db: Database, before: number, limit: number): Promise<number> {
  const which = sql<SqlBool>`start < ${Math.floor(before / MINUTE_MS)}`
  return removeOfAll((table) => removeRows(db, table, { which, limit }))
}

export function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  return removeOfAll((table) => removeRowsOfMissingAgents(db, table, limit))
}

const TABLES = ['recent_metrics', 'metric_buckets', 'metrics', 'version_metrics'] as const

async function removeOfAll(removeOf: (table: (typeof TABLES)[number]) => Promise<number>): Promise<number> {
  let removed = 0
  for (const table of TABLES) removed += await removeOf(table)
  return removed
}
