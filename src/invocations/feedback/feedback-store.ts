import { type Selectable, sql } from 'kysely'
import type { ShownAgent } from '../../agents/store.ts'
import { firstIdAt } from '../../lib/id.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { isOneOf } from '../../storage/queries/is-one-of.ts'
import { longPage, type Page, type PageQuery } from '../../storage/queries/page.ts'
import type { Tables } from '../../storage/tables.ts'
import { unknownSender } from '../rows/compared-answers.ts'
import { withoutToken } from '../steps/receipt-steps.ts'
import { type Feedback, millionthsOf, scoreOf } from './feedback.ts'

/**
 * Locks the receipt until the transaction ends, so an erasure comes either before or after the feedback, and feedback
 * with other keys is counted one at a time. SQLite has only one writer and needs no lock.
 */
export async function holdReceipt(db: Database, request_id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await db.selectFrom('invocations').select('id').where('id', '=', request_id).forNoKeyUpdate().execute()
}

type GivenFeedback = Pick<Feedback, 'id' | 'request_id' | 'key' | 'score' | 'comment' | 'created_by'> & { time: number }

/**
 * Stores the feedback and replaces earlier feedback with the same key. The statement copies the agent, version and user
 * from the receipt. Undefined if the receipt is erased or gone.
 */
export async function put(
  db: Database,
  { id, request_id, key, score, comment, created_by, time }: GivenFeedback,
): Promise<Feedback | undefined> {
  const row = await db
    .insertInto('feedback')
    .columns([
      'id',
      'request_id',
      'key',
      'score_millionths',
      'comment',
      'created_by',
      'created_at',
      'updated_at',
      'agent_seq',
      'user_id',
      'session_id',
      'environment',
      'version',
      'deployment_id',
      'started_by',
    ])
    .expression((from) =>
      from
        .selectFrom('invocations')
        .select(({ val, ref }) => [
          val(id).as('id'),
          ref('invocations.id').as('request_id'),
          val(key).as('key'),
          val(millionthsOf(score)).as('score_millionths'),
          val(comment).as('comment'),
          val(created_by).as('created_by'),
          val(time).as('created_at'),
          val(time).as('updated_at'),
          'agent_seq',
          'user_id',
          'session_id',
          'environment',
          'version',
          'deployment_id',
          ref('invocations.created_by').as('started_by'),
        ])
        .where('invocations.id', '=', request_id)
        .where('erased_at', 'is', null),
    )
    .onConflict((same) =>
      same.columns(['request_id', 'key']).doUpdateSet(({ ref }) => ({
        score_millionths: ref('excluded.score_millionths'),
        comment: ref('excluded.comment'),
        created_by: ref('excluded.created_by'),
        updated_at: ref('excluded.updated_at'),
      })),
    )
    .returningAll()
    .executeTakeFirst()
  return row && fromRow(row)
}

/** How many other keys have feedback on this run. */
export async function countOthers(db: Database, request_id: string, key: string): Promise<number> {
  const { total } = await db
    .selectFrom('feedback')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('request_id', '=', request_id)
    .where('key', '!=', key)
    .executeTakeFirstOrThrow()
  return total
}

/** The feedback of these runs, oldest first. */
export async function listOfRuns(db: Database, request_ids: readonly string[]): Promise<Feedback[]> {
  if (request_ids.length === 0) return []
  const rows = await db
    .selectFrom('feedback')
    .selectAll()
    .where('request_id', 'in', request_ids)
    .orderBy('id')
    .execute()
  return rows.map(fromRow)
}

/** Returns false if the run has no feedback with the key. */
export async function remove(db: Database, request_id: string, key: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('feedback')
    .where('request_id', '=', request_id)
    .where('key', '=', key)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Removes the comments, the user and the session. The scores stay. */
export async function eraseFromFeedback(db: Database, request_ids: readonly string[]): Promise<void> {
  if (request_ids.length === 0) return
  for (const column of ['started_by', 'created_by'] as const) {
    await db
      .updateTable('feedback')
      .set({ [column]: withoutToken('token:') })
      .where('request_id', 'in', request_ids)
      .where(column, 'like', 'token:%')
      .execute()
  }
  await db
    .updateTable('feedback')
    .set({ comment: null, user_id: null, session_id: null })
    .where('request_id', 'in', request_ids)
    .execute()
}

const EQUAL = [
  'request_id',
  'key',
  'user_id',
  'session_id',
  'environment',
  'version',
  'deployment_id',
  'started_by',
] as const

export type FeedbackFilter = { [column in (typeof EQUAL)[number]]?: string | undefined } & {
  score_below?: number | undefined
  score_above?: number | undefined
  commented?: boolean | undefined
  start_time?: number | undefined
  end_time?: number | undefined
}

/** A page of the feedback on some agents. */
export async function findFeedback(
  db: Database,
  among: readonly ShownAgent[],
  query: PageQuery,
  { score_below, score_above, commented, start_time, end_time, ...equal }: FeedbackFilter,
): Promise<Page<Feedback & { agent_id: string }>> {
  if (among.length === 0) return { items: [], total: 0 }
  const ids = new Map(among.map(({ id, seq }) => [seq, id]))
  let select = db
    .selectFrom('feedback')
    .selectAll()
    .where(isOneOf(db, sql`agent_seq`, [...ids.keys()]))
  for (const column of EQUAL) {
    const value = equal[column]
    if (value !== undefined) select = select.where(column, '=', value)
  }
  if (score_below !== undefined) select = select.where('score_millionths', '<', millionthsOf(score_below))
  if (score_above !== undefined) select = select.where('score_millionths', '>', millionthsOf(score_above))
  if (commented !== undefined) select = select.where('comment', commented ? 'is not' : 'is', null)
  // An ID begins with the time at which the feedback was first given.
  if (start_time !== undefined) select = select.where('id', '>=', firstIdAt('fbk', start_time))
  if (end_time !== undefined) select = select.where('id', '<', firstIdAt('fbk', end_time))
  const { items, total } = await longPage(db, select, sortedBy(query), { order: 'created_at' })
  return { items: items.map((row) => ({ ...fromRow(row), agent_id: ids.get(row.agent_seq) ?? '' })), total }
}

function sortedBy({ sort, ...query }: PageQuery): PageQuery {
  return { ...query, sort: sort.replace(/score$/, 'score_millionths') }
}

function fromRow({ score_millionths, ...row }: Selectable<Tables['feedback']>): Feedback {
  return { ...row, score: scoreOf(score_millionths) }
}

/** The guard of a gradual deployment reads them again and again, because people change them. */
const MOST_COMPARED = 10_000

/**
 * The first scores of requests to these deployments since then. Each sender counts once, with the average of its runs, and
 * each run with the average of its keys. Otherwise one person could decide how good a version is.
 */
export async function sumScores(
  db: Database,
  { agent_seq, deployment_ids, from }: { agent_seq: number; deployment_ids: readonly string[]; from: number },
): Promise<Map<string, { count: number; sum: number; squares: number }>> {
  const { rows } = await sql<{ deployment_id: string; count: number; sum: number; squares: number }>`
    with runs_rated as (
      select deployment_id, user_id, session_id, request_id, avg(cast(score_millionths as double precision)) / 1e6 as score
      from (select * from feedback where agent_seq = ${agent_seq} and id >= ${firstIdAt('fbk', from)}
        order by id limit ${MOST_COMPARED}) as first_given
      where request_id >= ${firstIdAt('req', from)} and deployment_id in (${sql.join(deployment_ids)})
      group by deployment_id, user_id, session_id, request_id),
    senders as (
      select deployment_id, avg(score) as score from runs_rated
      group by deployment_id, user_id, session_id, ${unknownSender('runs_rated.request_id')})
    select deployment_id, count(*) as count, sum(score) as sum, sum(score * score) as squares
    from senders group by deployment_id`.execute(db)
  const numbers = ({ count, sum, squares }: (typeof rows)[number]) => ({ count: Number(count), sum, squares })
  return new Map(rows.map((row) => [row.deployment_id, numbers(row)]))
}
