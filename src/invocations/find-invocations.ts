import { type SqlBool, sql } from 'kysely'
import type { Door } from '../operation/door.ts'
import type { Given } from '../runtime/given.ts'
import type { Database } from '../storage/database.ts'
import {
  INVOCATIONS_OF_AGENT,
  INVOCATIONS_OF_SCHEDULE,
  INVOCATIONS_OF_SESSION,
  INVOCATIONS_OF_STARTER,
  INVOCATIONS_OF_USER,
} from '../storage/queries/counted-lists.ts'
import { ownerOf } from '../storage/queries/counts.ts'
import { leadOf, whereLed } from '../storage/queries/lead.ts'
import { keysOfParts, type Page, type PageQuery, pageOfList } from '../storage/queries/page.ts'
import { removeOfRequests } from '../webhooks/callback-store.ts'
import { findByDoor, isOfDoor, ofOtherDoors } from './across/find-by-door.ts'
import { eraseFromApprovals } from './approvals/approval-store.ts'
import { type Invocation, InvocationStatus, UNFINISHED_STATUSES } from './invocation.ts'
import { listNextReceipts, listPageOfReceipts, RECEIPT_KEY } from './rows/receipt-rows.ts'
import { withoutWords } from './steps/receipt-steps.ts'

type Filter = {
  [column in 'status' | 'schedule_id' | 'user_id' | 'session_id' | 'created_by']?: string | undefined
} & { door?: Door | undefined }

/** In the order in which fewest pass: a session has fewer invocations than a user, and a user than a starter. */
const LEADS = [
  { column: 'schedule_id', list: INVOCATIONS_OF_SCHEDULE },
  { column: 'session_id', list: INVOCATIONS_OF_SESSION },
  { column: 'user_id', list: INVOCATIONS_OF_USER },
  { column: 'created_by', list: INVOCATIONS_OF_STARTER },
] as const

/** A page of an agent's invocations. */
export async function findInvocations(
  db: Database,
  agent_seq: number,
  query: PageQuery,
  { status, door, ...filter }: Filter,
): Promise<Page<Invocation>> {
  const led = leadOf(LEADS, filter)
  if (door !== undefined && door !== 'api' && !led.lead) {
    const { items, total } = await findByDoor(db, [agent_seq], query, { door, status })
    return { items: await listPageOfReceipts(db, items), total }
  }
  let select = whereLed(db.selectFrom('invocations').select(RECEIPT_KEY).where('agent_seq', '=', agent_seq), led)
  // The words of the index of starters: see `Invocation.own`.
  if (led.lead?.column === 'created_by') select = select.where(sql<SqlBool>`own = 1`)
  if (door !== undefined) select = select.where(isOfDoor(door))
  const wanted = {
    list: led.lead?.list ?? INVOCATIONS_OF_AGENT,
    owners: [led.lead ? ownerOf(agent_seq, led.lead.value) : ownerOf(agent_seq)],
    parts: status === undefined ? InvocationStatus.options : [status],
    ...(door !== undefined && !led.lead ? { without: ofOtherDoors([agent_seq]) } : {}),
  }
  const isFiltered = led.others.length > 0 || (led.lead !== undefined && door !== undefined)
  const { items, total } = await pageOfList(db, select, query, wanted, { isFiltered, columns: RECEIPT_KEY })
  return { items: await listPageOfReceipts(db, items), total }
}

/** Whether a run that the schedule began has not ended. */
export async function isBusy(db: Database, agent_seq: number, schedule_id: string): Promise<boolean> {
  const unfinished = await db
    .selectFrom('invocations')
    .select('id')
    .where('agent_seq', '=', agent_seq)
    .where('schedule_id', '=', schedule_id)
    .where('status', 'in', UNFINISHED_STATUSES)
    .limit(1)
    .executeTakeFirst()
  return unfinished !== undefined
}

const AT_ONCE = 500

type InvocationCursor = { created_at: number; id: string }

/** The next receipts of a user with an agent, after one that is known: as many as are read at once. */
export async function listOfUser(
  db: Database,
  { agent_seq, user_id }: { agent_seq: number; user_id: string },
  after: InvocationCursor = { created_at: 0, id: '' },
): Promise<Invocation[]> {
  const select = db
    .selectFrom('invocations')
    .where('agent_seq', '=', agent_seq)
    .where('user_id', '=', user_id)
    .where(sql<SqlBool>`(created_at, id) > (${after.created_at}, ${after.id})`)
  const wanted = { list: INVOCATIONS_OF_USER, parts: InvocationStatus.options }
  const keys = keysOfParts(db, [select], wanted, { direction: 'asc', limit: AT_ONCE, number: 'id' })
  const next = await db
    .selectFrom(keys.as('next'))
    .innerJoin('invocations', (row) => row.on('invocations.id', '=', sql.ref('next.number')))
    .select(RECEIPT_KEY)
    .orderBy('next.time')
    .orderBy('next.number')
    .execute()
  return listNextReceipts(db, next)
}

/** What the caller of an invocation gave besides its message, which receipts do not show. */
export async function findGiven(db: Database, id: string): Promise<Given | null> {
  const row = await db.selectFrom('invocations').select('given').where('id', '=', id).executeTakeFirst()
  return row?.given ? JSON.parse(row.given) : null
}

/** Those of the requests that belong to the user and to one of the agents. */
export async function listIdsOfUser(
  db: Database,
  user_id: string,
  { agent_seqs, ids }: { agent_seqs: ReadonlySet<number>; ids: string[] },
): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('invocations')
    .select(['id', 'agent_seq'])
    .where('id', 'in', ids)
    .where('user_id', '=', user_id)
    .execute()
  return rows.filter(({ agent_seq }) => agent_seqs.has(agent_seq)).map(({ id }) => id)
}

/**
 * Removes the texts and the user from receipts, which stay for accounting, and their callbacks. Only for invocations
 * that have ended.
 */
export async function eraseTexts(db: Database, ended: readonly Invocation[], now: number): Promise<void> {
  const ids = ended.map(({ id }) => id)
  await eraseFromApprovals(db, ids)
  await removeOfRequests(db, ids)
  for (const { id, response, error, steps } of ended) {
    await db
      .updateTable('invocations')
      .set({
        message: '',
        context: '{}',
        user_id: null,
        session_id: null,
        response: response === null ? null : '',
        error: error === null ? null : JSON.stringify({ ...error, message: '' }),
        steps: JSON.stringify(withoutWords(steps)),
        given: null,
        rounds: null,
        erased_at: now,
      })
      .where('id', '=', id)
      .execute()
  }
}
