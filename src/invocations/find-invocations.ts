import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { DOORS, type Door } from '../operation/door.ts'
import type { Given } from '../runtime/given.ts'
import { jsonOf } from '../storage/damaged-rows.ts'
import type { Database } from '../storage/database.ts'
import { countOfAgents } from '../storage/queries/count-rows.ts'
import { isOneOf } from '../storage/queries/is-one-of.ts'
import { longPage, type Page, type PageQuery } from '../storage/queries/page.ts'
import { removeOfRequests } from '../webhooks/callback-store.ts'
import { eraseFromApprovals } from './approvals/approval-store.ts'
import { asksPeople, works } from './approvals/asks-people.ts'
import { eraseCopies } from './cases/case-store.ts'
import { eraseFromFeedback } from './feedback/feedback-store.ts'
import { type Invocation, InvocationStatus } from './invocation.ts'
import { listNextReceipts, listPageOfReceipts, RECEIPT_KEY } from './rows/receipt-rows.ts'
import { withoutToken, withoutWords } from './steps/receipt-steps.ts'

/** The query fields that choose among an agent's invocations. */
export const INVOCATION_FILTERS = {
  status: InvocationStatus.optional(),
  activity: z
    .enum(['working', 'asking'])
    .optional()
    .describe('`asking`: waiting for people to decide. `working`: running, or waiting for anything else'),
  door: z.enum(DOORS).optional().describe('Only invocations that came through this channel'),
  session_id: z.string().max(256).optional(),
  user_id: z.string().max(256).optional(),
  schedule_id: z.string().max(100).optional().describe('Only invocations started by this schedule'),
}

const FILTERS = ['status', 'schedule_id', 'user_id', 'session_id', 'created_by', 'door', 'parent_request_id'] as const
type Filter = { [column in (typeof FILTERS)[number]]?: string | undefined } & {
  door?: Door | undefined
  activity?: keyof typeof ACTIVITIES | undefined
}

const ACTIVITIES = { asking: asksPeople, working: works }

/**
 * Up to this many agents are searched one by one, so other projects' invocations aren't read. A project with more
 * agents owns so large a share of all rows that reading them all is worthwhile.
 */
const MOST_PARTS = 100

/** A page of the invocations of some agents. */
export async function findInvocations(
  { db, reserve }: Needs<'db' | 'reserve'>,
  seqs: readonly number[],
  query: PageQuery,
  filter: Filter,
): Promise<Page<Invocation>> {
  if (seqs.length === 0) return { items: [], total: 0 }
  const { activity } = filter
  const given = FILTERS.filter((column) => filter[column] !== undefined)
  const select = (which: RawBuilder<SqlBool>) => {
    const all = db.selectFrom('all_invocations').select(RECEIPT_KEY).where(which)
    const some = activity ? all.where(ACTIVITIES[activity]) : all
    return given.reduce((found, column) => found.where(column, '=', filter[column] as string), some)
  }
  // This is the condition of the index of uncompleted invocations, which lists of many agents use.
  const isRare = filter.status !== undefined && filter.status !== 'completed' && seqs.length > MOST_PARTS
  const isAmongThem = isOneOf(db, sql`agent_seq`, seqs)
  const ofThem = isRare ? sql<SqlBool>`${isAmongThem} and status <> 'completed'` : isAmongThem
  const conditions = [ofThem, ...given.map((column) => sql<SqlBool>`${sql.ref(column)} = ${filter[column]}`)]
  const countKnown = () => (given.length === 0 ? countOfAgents(db, 'invocations', seqs) : countMatching(db, conditions))
  const page = await longPage(db, select(ofThem), query, {
    order: 'created_at',
    ...(!activity && { total: countKnown() }),
    parts: seqs.length > MOST_PARTS ? undefined : seqs.map((seq) => select(sql`agent_seq = ${seq}`)),
  })
  return { items: await listPageOfReceipts({ db, reserve }, page.items), total: page.total }
}

/**
 * Counts each table with its own indexes. One statement counts both, because a run is always in exactly one of them,
 * even while it ends.
 */
async function countMatching(db: Database, conditions: readonly RawBuilder<SqlBool>[]): Promise<number> {
  const [receipts, runs] = (['invocations', 'runs'] as const).map(
    (table) => sql`(select count(*) from ${sql.table(table)} where ${sql.join(conditions, sql` and `)})`,
  )
  const { rows } = await sql<{ total: number }>`select ${receipts} + ${runs} as total`.execute(db)
  return Number(rows[0]?.total)
}

/** Whether a run that the schedule started is still active. */
export async function isBusy(db: Database, agent_seq: number, schedule_id: string): Promise<boolean> {
  const unfinished = await db
    .selectFrom('runs')
    .select('id')
    .where('agent_seq', '=', agent_seq)
    .where('schedule_id', '=', schedule_id)
    .limit(1)
    .executeTakeFirst()
  return unfinished !== undefined
}

const RECEIPT_KEYS_READ = 500

/** The user's next receipts with an agent, after a known one, as many as one read returns. */
export async function listOfUser(
  db: Database,
  { agent_seq, user_id }: { agent_seq: number; user_id: string },
  after = '',
): Promise<Invocation[]> {
  const next = await db
    .selectFrom('all_invocations')
    .select(RECEIPT_KEY)
    .where('agent_seq', '=', agent_seq)
    .where('user_id', '=', user_id)
    .where('id', '>', after)
    .orderBy('id')
    .limit(RECEIPT_KEYS_READ)
    .execute()
  return listNextReceipts(db, next)
}

/** What the caller sent in addition to the message. Receipts don't show it. */
export async function findGiven(db: Database, id: string): Promise<Given | null> {
  const row = await db.selectFrom('all_invocations').select('given').where('id', '=', id).executeTakeFirst()
  return row ? jsonOf('invocation', { ...row, id })('given') : null
}

/** The requests in this list that belong to the user and to one of the agents. */
export async function listIdsOfUser(
  db: Database,
  user_id: string,
  { agent_seqs, ids }: { agent_seqs: ReadonlySet<number>; ids: string[] },
): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('all_invocations')
    .select(['id', 'agent_seq'])
    .where('id', 'in', ids)
    .where('user_id', '=', user_id)
    .execute()
  return rows.filter(({ agent_seq }) => agent_seqs.has(agent_seq)).map(({ id }) => id)
}

/**
 * Removes the texts, the user and the callbacks from receipts of ended invocations, and the comments of their feedback.
 * The receipts and the scores are kept for accounting. Files are removed elsewhere, because their bytes aren't in the
 * database.
 */
export async function eraseTexts(db: Database, ended: readonly Invocation[], now: number): Promise<void> {
  const ids = ended.map(({ id }) => id)
  await eraseFromApprovals(db, ids)
  await removeOfRequests(db, ids)
  await eraseCopies(db, ids, now)
  for (const { id, response, error, steps, created_by } of ended) {
    await db
      .updateTable('invocations')
      .set({
        message: '',
        context: '{}',
        user_id: null,
        session_id: null,
        response: response === null ? null : '',
        error: error === null ? null : JSON.stringify({ ...error, message: '', details: undefined }),
        steps: JSON.stringify(withoutWords(steps)),
        created_by: withoutToken(created_by),
        attachments: null,
        given: null,
        rounds: null,
        erased_at: now,
      })
      .where('id', '=', id)
      .execute()
  }
  // Simultaneous feedback locks the receipt first, so either this statement sees it or it finds the receipt erased.
  await eraseFromFeedback(db, ids)
}

/** The status of a run of any agent. */
export async function findAttempt(db: Database, id: string): Promise<{ status: string; attempt: number } | undefined> {
  return db.selectFrom('all_invocations').select(['status', 'attempt']).where('id', '=', id).executeTakeFirst()
}
