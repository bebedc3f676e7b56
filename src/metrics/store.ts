import { type AliasableExpression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../lib/id.ts'
import type { Database } from '../storage/database.ts'
import type { BulkTable, Merge, Write } from '../storage/journal/rows.ts'
import { missingAgents } from '../storage/queries/missing-agents.ts'
import { bucketOf, type Histogram } from './histogram.ts'
import type { Totals } from './metric.ts'
import { MINUTE_MS, type Range } from './range.ts'

type MetricTable = BulkTable & { table: 'metrics' | 'metric_buckets'; merge: Merge }

/** Sums are stored by minute and by hour, so that a year need not be added up from its minutes. */
const HOUR = 60

const METRICS: MetricTable = {
  table: 'metrics',
  columns: ['agent_seq', 'minutes', 'start', 'count', 'errors', 'sum_ms', 'max_ms'],
  merge: { key: ['agent_seq', 'minutes', 'start'], add: ['count', 'errors', 'sum_ms'], max: ['max_ms'] },
}
const BUCKETS: MetricTable = {
  table: 'metric_buckets',
  columns: ['agent_seq', 'minutes', 'start', 'bucket', 'count'],
  merge: { key: ['agent_seq', 'minutes', 'start', 'bucket'], add: ['count'], max: [] },
}

type Sample = {
  agent_seq: number
  /** The time at which the invocation ended. */
  time: number
  duration_ms: number
  outcome: 'completed' | 'failed' | 'cancelled'
}

/**
 * What an invocation adds to its agent's metrics, for the journal. A cancelled one adds nothing: nobody waited for its
 * answer.
 */
export function metricWrites({ agent_seq, time, duration_ms, outcome }: Sample): Write[] {
  if (outcome === 'cancelled') return []
  const ms = Math.max(0, Math.round(duration_ms))
  const errors = outcome === 'failed' ? 1 : 0
  const minute = Math.floor(time / MINUTE_MS)
  return [1, HOUR].flatMap((minutes) => {
    const span = { agent_seq, minutes, start: minute - (minute % minutes), count: 1 }
    return [
      { into: METRICS, row: { ...span, errors, sum_ms: ms, max_ms: ms } },
      { into: BUCKETS, row: { ...span, bucket: bucketOf(ms) } },
    ]
  })
}

const SUMS = [
  sql<number>`sum(count)`.as('count'),
  sql<number>`sum(errors)`.as('errors'),
  sql<number>`sum(sum_ms)`.as('sum_ms'),
  sql<number>`max(max_ms)`.as('max_ms'),
] as const

/** Whose invocations are counted: those of one user, or all of them. */
type CountedUser = { user_id: string | null }

/** The totals by the first minute of each step. Steps without an invocation are absent. */
export async function totals(
  db: Database,
  agent_seq: number,
  range: Range,
  whose: CountedUser,
): Promise<Map<number, Totals>> {
  const found = (await totalsOfAgents(db, [agent_seq], range, whose)).get(agent_seq) ?? []
  return new Map(found.map(({ from, count, errors, sum_ms, max_ms }) => [from, { count, errors, sum_ms, max_ms }]))
}

export async function histograms(
  db: Database,
  agent_seq: number,
  range: Range,
  whose: CountedUser,
): Promise<Map<number, Histogram>> {
  const step = stepOf(range)
  const rows = await db
    .selectFrom(bucketsOf(db, range, whose).as('counted'))
    .select((row) => [step.as('from'), 'bucket', row.fn.sum<number>('count').as('count')])
    .where('agent_seq', '=', agent_seq)
    .groupBy([step, 'bucket'])
    .orderBy('bucket')
    .execute()
  return Map.groupBy(inBuckets(rows, whose), ({ from }) => from)
}

/** The totals of several agents, by the first minute of each step. */
export async function totalsOfAgents(
  db: Database,
  agent_seqs: number[],
  range: Range,
  whose: CountedUser,
): Promise<Map<number, (Totals & { from: number })[]>> {
  if (agent_seqs.length === 0) return new Map()
  const step = stepOf(range)
  const rows = await db
    .selectFrom(sumsOf(db, range, whose).as('counted'))
    .select(['agent_seq', step.as('from'), ...SUMS])
    .where('agent_seq', 'in', agent_seqs)
    .groupBy(['agent_seq', step])
    .execute()
  return Map.groupBy(rows, ({ agent_seq }) => agent_seq)
}

/** The histograms of several agents over the whole range. */
export async function histogramsOfAgents(
  db: Database,
  agent_seqs: number[],
  range: Range,
  whose: CountedUser,
): Promise<Map<number, Histogram>> {
  if (agent_seqs.length === 0) return new Map()
  const rows = await db
    .selectFrom(bucketsOf(db, range, whose).as('counted'))
    .select((row) => ['agent_seq', 'bucket', row.fn.sum<number>('count').as('count')])
    .where('agent_seq', 'in', agent_seqs)
    .groupBy(['agent_seq', 'bucket'])
    .orderBy('bucket')
    .execute()
  return Map.groupBy(inBuckets(rows, whose), ({ agent_seq }) => agent_seq)
}

type Started = { agent_seq: number; start: number }

/** The stored sums of all users, or the invocations of one user in the same columns. */
function sumsOf(db: Database, range: Range, { user_id }: CountedUser): AliasableExpression<Started & Totals> {
  if (user_id === null) {
    return db
      .selectFrom('metrics')
      .select(['agent_seq', 'start', 'count', 'errors', 'sum_ms', 'max_ms'])
      .where(isWithin(range))
  }
  return endedOf(db, range, user_id).select([
    sql<number>`1`.as('count'),
    sql<number>`case when status = 'failed' then 1 else 0 end`.as('errors'),
    DURATION.as('sum_ms'),
    DURATION.as('max_ms'),
  ])
}

/** The same for histograms. Of one user, `bucket` is the duration until `inBuckets` has found its bucket. */
function bucketsOf(
  db: Database,
  range: Range,
  { user_id }: CountedUser,
): AliasableExpression<Started & Histogram[number]> {
  if (user_id === null) {
    return db.selectFrom('metric_buckets').select(['agent_seq', 'start', 'bucket', 'count']).where(isWithin(range))
  }
  return endedOf(db, range, user_id).select([DURATION.as('bucket'), sql<number>`1`.as('count')])
}

function inBuckets<T extends { bucket: number }>(rows: T[], { user_id }: CountedUser): T[] {
  return user_id === null ? rows : rows.map((row) => ({ ...row, bucket: bucketOf(row.bucket) }))
}

const DURATION = sql<number>`coalesce(duration_ms, 0)`

/** The invocations of a user that completed or failed in the range. None of them began after its end. */
function endedOf(db: Database, { from, to }: Range, user_id: string) {
  return db
    .selectFrom('invocations')
    .select(['agent_seq', sql<number>`finished_at / ${sql.lit(MINUTE_MS)}`.as('start')])
    .where('user_id', '=', user_id)
    .where('id', '<', firstIdAt('req', to * MINUTE_MS))
    .where('finished_at', '>=', from * MINUTE_MS)
    .where('finished_at', '<', to * MINUTE_MS)
    .where('status', 'in', ['completed', 'failed'])
}

/** Removes rows that are older, at most `limit` from each table. Returns how many. */
export async function remove(db: Database, before: number, limit: number): Promise<number> {
  const minute = Math.floor(before / MINUTE_MS)
  const old = sql<SqlBool>`start < ${minute}`
  return (await removeRows(db, BUCKETS, old, limit)) + (await removeRows(db, METRICS, old, limit))
}

export async function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  let removed = 0
  for (const bulk of [BUCKETS, METRICS]) {
    const agents = await missingAgents(db, bulk.table)
    if (agents.length > 0) removed += await removeRows(db, bulk, sql`agent_seq in (${sql.join(agents)})`, limit)
  }
  return removed
}

async function removeRows(db: Database, { table, merge }: MetricTable, which: RawBuilder<SqlBool>, limit: number) {
  const key = sql.join(merge.key.map((column) => sql.ref(column)))
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${key}) in (
      select ${key} from ${sql.table(table)} where ${which} limit ${limit}
    )`.execute(db)
  return Number(numAffectedRows)
}

/**
 * The step that a row belongs to. The number is part of the SQL text, because PostgreSQL takes two parameters for two
 * different expressions.
 */
function stepOf({ step }: Range): RawBuilder<number> {
  return sql<number>`start - start % ${sql.lit(step)}`
}

function isWithin({ from, to, step }: Range): RawBuilder<SqlBool> {
  const span = step % HOUR === 0 ? HOUR : 1
  return sql<SqlBool>`minutes = ${span} and start >= ${from} and start < ${to}`
}
