import { type AliasableExpression, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import { bucketInSql } from './histogram.ts'
import type { Totals } from './metric.ts'
import { MINUTE_MS, type Range } from './range.ts'

/** Sums are stored by minute and by hour, so that a year need not be added up from its minutes. */
export const HOUR = 60
/** The `minutes` of a row that covers one minute and isn't included in any other sum yet. */
export const RECENT = 0

/** What an invocation uses. */
export const SPENT = ['tokens', 'cost_nano', 'unpriced'] as const

/** Which invocations are counted: one user's or everyone's, and optionally only those that a version answered. */
export type Counted = { user_id: string | null } & ServedBy

/** What answered. What is undefined may be anything. */
type ServedBy = { [column in (typeof SERVED_BY)[number]]?: string | undefined }

const SERVED_BY = ['environment', 'version', 'deployment_id'] as const

/** For any table with these columns. */
export function isServedBy(served: ServedBy): RawBuilder<SqlBool> {
  const wanted = SERVED_BY.flatMap((column) =>
    served[column] === undefined ? [] : [sql`${sql.ref(column)} = ${served[column]}`],
  )
  return sql<SqlBool>`${sql.join([sql`1 = 1`, ...wanted], sql` and `)}`
}

type StepStart = { agent_seq: number; start: number }
export type BucketCount = StepStart & { bucket: number; count: number }

/** The stored sums of all users, or the invocations of one user in the same columns. */
export function sumsOf(
  db: Database,
  agent_seqs: AgentSeqs,
  range: Range,
  whose: Counted,
): AliasableExpression<StepStart & Totals> {
  const columns = ['agent_seq', 'start', 'count', 'errors', 'sum_ms', 'max_ms'] as const
  if (whose.user_id !== null) {
    return db
      .selectFrom(endedOf(db, agent_seqs, range, whose.user_id, whose).as('ended'))
      .select([
        'agent_seq',
        'start',
        sql<number>`1`.as('count'),
        sql<number>`case when status = 'failed' then 1 else 0 end`.as('errors'),
        'ms as sum_ms',
        'ms as max_ms',
      ])
  }
  if (isOfVersion(whose)) return versionsOf(db, agent_seqs, range, whose).select(columns)
  return db
    .selectFrom('metrics')
    .select(columns)
    .where('agent_seq', 'in', agent_seqs)
    .where('minutes', '=', spanOf(range))
    .where(isWithin(range))
    .unionAll(recentOf(db, agent_seqs, range).select(columns))
    .unionAll(olderOf(db, agent_seqs, range).select(columns))
}

/** The same for the buckets of durations. */
export function bucketsOf(
  db: Database,
  agent_seqs: AgentSeqs,
  range: Range,
  whose: Counted,
): AliasableExpression<BucketCount> {
  const columns = ['agent_seq', 'start', 'bucket', 'count'] as const
  if (whose.user_id !== null) {
    return db
      .selectFrom(endedOf(db, agent_seqs, range, whose.user_id, whose).as('ended'))
      .select(['agent_seq', 'start', bucketInSql('ms').as('bucket'), sql<number>`1`.as('count')])
  }
  const counted = versionsOf(db, agent_seqs, range, whose).select(columns)
  if (isOfVersion(whose)) return counted
  return counted
    .unionAll(
      db
        .selectFrom('metric_buckets')
        .select(columns)
        .where('agent_seq', 'in', agent_seqs)
        .where('minutes', '=', spanOf(range))
        .where(isWithin(range)),
    )
    .unionAll(olderOf(db, agent_seqs, range).select(columns))
}

type AgentSeqs = number[] | Expression<number>

function isOfVersion(whose: ServedBy): boolean {
  return SERVED_BY.some((column) => whose[column] !== undefined)
}

/** The sums by what answered, with those that are recent. */
export function versionsOf(db: Database, agent_seqs: AgentSeqs, range: Range, whose: ServedBy) {
  return db
    .selectFrom('version_metrics')
    .where('agent_seq', 'in', agent_seqs)
    .where('minutes', 'in', [RECENT, spanOf(range)])
    .where(isWithin(range))
    .where(isServedBy(whose))
}

function recentOf(db: Database, agent_seqs: AgentSeqs, range: Range) {
  return db
    .selectFrom('version_metrics')
    .where('agent_seq', 'in', agent_seqs)
    .where('minutes', '=', RECENT)
    .where(isWithin(range))
}

/** What a node of 0.1.0 has counted and nothing has summed yet. */
function olderOf(db: Database, agent_seqs: AgentSeqs, range: Range) {
  return db.selectFrom('recent_metrics').where('agent_seq', 'in', agent_seqs).where(isWithin(range))
}

/** The invocations of a user that completed or failed in the range. */
export function endedOf(db: Database, agent_seqs: AgentSeqs, { from, to }: Range, user_id: string, served: ServedBy) {
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
    .where(isServedBy(served))
}

/**
 * The step that a row belongs to. The number is part of the SQL text, because PostgreSQL takes two parameters for two
 * different expressions.
 */
export function stepOf({ step }: Range): RawBuilder<number> {
  return sql<number>`start - start % ${sql.lit(step)}`
}

/** How many minutes are in each row from which the steps are made. */
function spanOf({ step }: Range): number {
  return step % HOUR === 0 ? HOUR : 1
}

function isWithin({ from, to }: Range): RawBuilder<SqlBool> {
  return sql<SqlBool>`start >= ${from} and start < ${to}`
}
