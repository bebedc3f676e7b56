import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { ErrorCode } from '../../errors.ts'
import { firstIdAt } from '../../lib/id.ts'
import type { Database } from '../../storage/database.ts'

/** The caller or the operator causes these failures, whatever the version is. */
const NOT_OF_THE_VERSION: readonly ErrorCode[] = ['budget_exceeded', 'session_busy', 'conflict', 'agent_paused']

/** A failed run of a version. An error is stored with its code first. `of` is the table's name with a dot. */
function hasFailed(of = '') {
  const ofCallers = NOT_OF_THE_VERSION.map(
    (code) => sql`coalesce(${sql.raw(of)}error, '') like ${sql.lit(`{"code":"${code}"%`)}`,
  )
  return sql<SqlBool>`${sql.raw(of)}status = 'failed' and not (${sql.join(ofCallers, sql` or `)})`
}

const HAS_FAILED = hasFailed()
const IS_ANSWERED = sql<SqlBool>`status = 'completed'`

/** The request itself if it names neither a session nor a user. With these two, it's whose version was drawn. */
export function unknownSender(request_id: string): RawBuilder<string | null> {
  return sql`case when user_id is null and session_id is null then ${sql.ref(request_id)} end`
}

/** These answers, of senders whose answer to a request since `step_at` isn't counted yet. */
export type UncountedAnswers = {
  rollout_id: string
  agent_seq: number
  deployment_ids: readonly string[]
  step_at: number
  request_ids: readonly string[]
}

/**
 * Whether no answer of the sender was counted in this step. All answers of the step that aren't in `rollout_answers` any
 * more were. Versions are drawn for senders: if all answers of a sender counted, one whose messages always fail would
 * look like a version that fails.
 */
function isFirst({ rollout_id, agent_seq, deployment_ids, step_at }: UncountedAnswers): RawBuilder<SqlBool> {
  // A scalar query each. For an `exists`, PostgreSQL may read the answers of all senders at once.
  const isUncounted = sql`(select 1 from rollout_answers
    where rollout_answers.rollout_id = ${rollout_id} and rollout_answers.request_id = earlier.id limit 1)`
  const noneCounted = (ofSender: RawBuilder<SqlBool>) => sql<SqlBool>`(
    select 1 from invocations as earlier
    where earlier.agent_seq = ${agent_seq} and ${ofSender} and earlier.id >= ${firstIdAt('req', step_at)}
      and earlier.deployment_id in (${sql.join(deployment_ids)})
      and (earlier.status = 'completed' or (${hasFailed('earlier.')}))
      and ${isUncounted} is null limit 1) is null`
  const sameSession = sql<SqlBool>`earlier.session_id = answered.session_id
    and earlier.user_id is not distinct from answered.user_id`
  const sameUser = sql<SqlBool>`earlier.user_id = answered.user_id and earlier.session_id is null`
  // Each condition is answered by one index.
  return sql<SqlBool>`case when answered.session_id is not null then ${noneCounted(sameSession)}
    when answered.user_id is not null then ${noneCounted(sameUser)} else true end`
}

export type AnswerSums = {
  deployment_id: string
  answers: number
  failures: number
  completed: number
  priced: number
} & { [Sum in `${'ms' | 'tokens' | 'cost'}_${'sum' | 'squares'}`]: number }

/**
 * What each deployment has answered: the first answer of each sender. Cancelled runs, and failures that callers caused,
 * aren't counted.
 */
export async function sumAnswers(db: Database, uncounted: UncountedAnswers): Promise<AnswerSums[]> {
  const { agent_seq, deployment_ids, step_at, request_ids } = uncounted
  if (request_ids.length === 0) return []
  const when = (condition: RawBuilder<SqlBool>, value: RawBuilder<number>) =>
    sql<number>`coalesce(sum(case when ${condition} then ${value} else 0 end), 0)`
  // As a double, because squares could be too large for an integer.
  const real = (column: string) => sql<number>`cast(coalesce(${sql.ref(column)}, 0) as double precision)`
  const square = (column: string) => sql<number>`${real(column)} * ${real(column)}`
  const one = sql<number>`1`
  const isPriced = sql<SqlBool>`${IS_ANSWERED} and cost_nano is not null`
  const sender = sql`user_id, session_id, ${unknownSender('id')}`
  const rows = await db
    .with('answered', (asked) =>
      asked
        .selectFrom('invocations')
        .select(['deployment_id', 'user_id', 'session_id', 'status', 'error'])
        .select(['duration_ms', 'tokens_used', 'cost_nano'])
        .select(sql<number>`row_number() over (partition by ${sender} order by finished_at, id)`.as('number'))
        .where('id', 'in', request_ids)
        .where('id', '>=', firstIdAt('req', step_at))
        .where('agent_seq', '=', agent_seq)
        .where('deployment_id', 'in', deployment_ids)
        .where(sql<SqlBool>`(${IS_ANSWERED} or (${HAS_FAILED}))`),
    )
    .selectFrom('answered')
    .select([
      sql<string>`deployment_id`.as('deployment_id'),
      sql<number>`count(*)`.as('answers'),
      when(HAS_FAILED, one).as('failures'),
      when(IS_ANSWERED, one).as('completed'),
      when(isPriced, one).as('priced'),
      when(IS_ANSWERED, real('duration_ms')).as('ms_sum'),
      when(IS_ANSWERED, square('duration_ms')).as('ms_squares'),
      when(IS_ANSWERED, real('tokens_used')).as('tokens_sum'),
      when(IS_ANSWERED, square('tokens_used')).as('tokens_squares'),
      when(isPriced, real('cost_nano')).as('cost_sum'),
      when(isPriced, square('cost_nano')).as('cost_squares'),
    ])
    .where('number', '=', 1)
    .where(isFirst(uncounted))
    .groupBy('deployment_id')
    .execute()
  return rows.map((row) => {
    const numbers = Object.entries(row).map(([name, value]) => [name, name === 'deployment_id' ? value : Number(value)])
    return Object.fromEntries(numbers) as AnswerSums
  })
}

const MOST_EXAMPLES = 5

/** Runs of a deployment that failed, the latest first, or those that used most. */
export async function listExamples(
  db: Database,
  { agent_seq, deployment_id, from }: { agent_seq: number; deployment_id: string; from: number },
  by: 'failures' | 'duration_ms' | 'tokens_used' | 'cost_nano',
): Promise<string[]> {
  const select = db
    .selectFrom('invocations')
    .select('id')
    .where('agent_seq', '=', agent_seq)
    .where('id', '>=', firstIdAt('req', from))
    .where('deployment_id', '=', deployment_id)
    .where(by === 'failures' ? HAS_FAILED : IS_ANSWERED)
    .$if(by !== 'failures', (found) => found.orderBy(sql.ref(by), 'desc'))
    .orderBy('id', 'desc')
  const rows = await select.limit(MOST_EXAMPLES).execute()
  return rows.map(({ id }) => id)
}
