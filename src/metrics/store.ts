import { type AliasableExpression, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import { bulkTable } from '../storage/journal/bulk-table.ts'
import type { Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import { removeRowsOfMissingAgents } from '../storage/queries/missing-agents.ts'
import { removeRows, takeRows } from '../storage/queries/remove-rows.ts'
import { bucketInSql, bucketOf, middleOf } from './histogram.ts'
import type { Percentiles, Totals } from './metric.ts'
import { MINUTE_MS, type Range } from './range.ts'

/** Sums are stored by minute and by hour, so that a year need not be added up from its minutes. */
const HOUR = 60

/** A run adds to one row. The others are written by `rollUp`, and until then every reader adds the recent ones. */
const SUMMED = { add: ['count', 'errors', 'sum_ms'], max: ['max_ms'] }
const RECENT = bulkTable('recent_metrics', { merge: SUMMED })
const METRICS = bulkTable('metrics', { merge: SUMMED })
const BUCKETS = bulkTable('metric_buckets', { merge: { add: ['count'] } })

type Sample = {
  agent_seq: number
  /** The time at which the invocation ended. */
  time: number
  duration_ms: number
  outcome: 'completed' | 'failed' | 'cancelled'
}

/**
 * What an invocation adds to its agent's metrics, for the journal. A cancelled one adds nothing: no client waited for its
 * answer.
 */
export function metricWrites({ agent_seq, time, duration_ms, outcome }: Sample): Write[] {
  if (outcome === 'cancelled') return []
  const ms = Math.max(0, Math.round(duration_ms))
  const errors = outcome === 'failed' ? 1 : 0
  const start = Math.floor(time / MINUTE_MS)
  return [{ into: RECENT, row: { agent_seq, start, bucket: bucketOf(ms), count: 1, errors, sum_ms: ms, max_ms: ms } }]
}

/**
 * Moves at most `limit` rows of minutes that have ended into the sums of minutes and hours; returns how many. A row is
 * removed in the transaction that adds it to the sums, so it counts once, whenever the process dies. An invocation whose
 * entry comes later makes a row again.
 */
export async function rollUp(db: Database, before: number, limit: number): Promise<number> {
  const which = sql<SqlBool>`start < ${Math.floor(before / MINUTE_MS)}`
  const rows = await takeRows(db, 'recent_metrics', { which, limit })
  const sums = rows.flatMap(({ start, ...row }) =>
    [1, HOUR].flatMap((minutes) => {
      const span = { ...row, minutes, start: start - (start % minutes) }
      return [METRICS, BUCKETS].map((into) => ({ into, row: span }))
    }),
  )
  await writeRows(db, sums)
  return rows.length
}

const SUMS = [
  sql<number>`sum(count)`.as('count'),
  sql<number>`sum(errors)`.as('errors'),
  sql<number>`sum(sum_ms)`.as('sum_ms'),
  sql<number>`max(max_ms)`.as('max_ms'),
] as const

/** Whose invocations are counted: those of one user, or all of them. */
type UserFilter = { user_id: string | null }

/** The totals by the first minute of each step. Steps without an invocation are absent. */
export async function totals(
  db: Database,
  agent_seq: number,
  range: Range,
  whose: UserFilter,
): Promise<Map<number, Totals>> {
  const found = (await totalsOfAgents(db, [agent_seq], range, whose)).get(agent_seq) ?? []
  return new Map(found.map(({ from, count, errors, sum_ms, max_ms }) => [from, { count, errors, sum_ms, max_ms }]))
}

/** The totals of several agents, by the first minute of each step. */
export async function totalsOfAgents(
  db: Database,
  agent_seqs: number[],
  range: Range,
  whose: UserFilter,
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
  whose: UserFilter,
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
  whose: UserFilter,
): Promise<Map<number, Percentiles>> {
  return ranked(db, bucketsOf(db, [agent_seq], range, whose), stepOf(range))
}

/** The percentiles of several agents over the whole range. */
export async function percentilesOfAgents(
  db: Database,
  agent_seqs: number[],
  range: Range,
  whose: UserFilter,
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

type StepStart = { agent_seq: number; start: number }
type BucketCount = StepStart & { bucket: number; count: number }

/** The stored sums of all users, or the invocations of one user in the same columns. */
function sumsOf(
  db: Database,
  agent_seqs: number[] | Expression<number>,
  range: Range,
  { user_id }: UserFilter,
): AliasableExpression<StepStart & Totals> {
  if (user_id === null) {
    const columns = ['agent_seq', 'start', 'count', 'errors', 'sum_ms', 'max_ms'] as const
    return db
      .selectFrom('metrics')
      .select(columns)
      .where('agent_seq', 'in', agent_seqs)
      .where('minutes', '=', spanOf(range))
      .where(isWithin(range))
      .unionAll(
        db.selectFrom('recent_metrics').select(columns).where('agent_seq', 'in', agent_seqs).where(isWithin(range)),
      )
  }
  return db
    .selectFrom(endedOf(db, agent_seqs, range, user_id).as('ended'))
    .select([
      'agent_seq',
      'start',
      sql<number>`1`.as('count'),
      sql<number>`case when status = 'failed' then 1 else 0 end`.as('errors'),
      'ms as sum_ms',
      'ms as max_ms',
    ])
}

/** The same for the buckets of durations. */
function bucketsOf(
  db: Database,
  agent_seqs: number[],
  range: Range,
  { user_id }: UserFilter,
): AliasableExpression<BucketCount> {
  if (user_id === null) {
    const columns = ['agent_seq', 'start', 'bucket', 'count'] as const
    return db
      .selectFrom('metric_buckets')
      .select(columns)
      .where('agent_seq', 'in', agent_seqs)
      .where('minutes', '=', spanOf(range))
      .where(isWithin(range))
      .unionAll(
        db.selectFrom('recent_metrics').select(columns).where('agent_seq', 'in', agent_seqs).where(isWithin(range)),
      )
  }
  return db
    .selectFrom(endedOf(db, agent_seqs, range, user_id).as('ended'))
    .select(['agent_seq', 'start', bucketInSql('ms').as('bucket'), sql<number>`1`.as('count')])
}

/** The invocations of a user that completed or failed in the range. */
function endedOf(db: Database, agent_seqs: number[] | Expression<number>, { from, to }: Range, user_id: string) {
  return db
    .selectFrom('invocations')
    .select([
      'agent_seq',
      'status',
      sql<number>`finished_at / ${sql.lit(MINUTE_MS)}`.as('start'),
      sql<number>`coalesce(duration_ms, 0)`.as('ms'),
    ])
    .where('agent_seq', 'in', agent_seqs)
    .where('user_id', '=', user_id)
    .where('finished_at', '>=', from * MINUTE_MS)
    .where('finished_at', '<', to * MINUTE_MS)
    .where('status', 'in', ['completed', 'failed'])
}

/** Removes rows that are older, at most `limit` from each table. Returns how many. */
export function remove(db: Database, before: number, limit: number): Promise<number> {
  const which = sql<SqlBool>`start < ${Math.floor(before / MINUTE_MS)}`
  return removeOfAll((table) => removeRows(db, table, { which, limit }))
}

export function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  return removeOfAll((table) => removeRowsOfMissingAgents(db, table, limit))
}

async function removeOfAll(
  removeOf: (table: 'recent_metrics' | 'metric_buckets' | 'metrics') => Promise<number>,
): Promise<number> {
  return (await removeOf('recent_metrics')) + (await removeOf('metric_buckets')) + (await removeOf('metrics'))
}

/**
 * The step that a row belongs to. The number is part of the SQL text, because PostgreSQL takes two parameters for two
 * different expressions.
 */
function stepOf({ step }: Range): RawBuilder<number> {
  return sql<number>`start - start % ${sql.lit(step)}`
}

/** How many minutes are in each row from which the steps are made. */
function spanOf({ step }: Range): number {
  return step % HOUR === 0 ? HOUR : 1
}

function isWithin({ from, to }: Range): RawBuilder<SqlBool> {
  return sql<SqlBool>`start >= ${from} and start < ${to}`
}
