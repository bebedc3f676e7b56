import { sql } from 'kysely'
import type { ChatAnswer } from '../../answers/conversation-answer.ts'
import { fromRow } from '../../answers/store.ts'
import type { WorkBatch } from '../../lib/work/worker.ts'
import { readable } from '../../storage/damaged-rows.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { isHeld, type Lease, type LeasedTable, take } from '../../storage/leases/lease.ts'
import { isHeldBack } from '../../storage/queries/paused-projects.ts'
import type { Tables } from '../../storage/tables.ts'

/** An answer is leased to the node that sends it. The lease ends at its `next_attempt_at`; then it is due again. */
export const LEASED_ANSWERS: LeasedTable = {
  table: 'chat_answers',
  key: ['id'],
  until: 'next_attempt_at',
  condition: "status = 'pending'",
}

/** An answer that this node may send. */
export type TakenAnswer = ChatAnswer & { lease: Lease }

// A literal, because only then do the engines see that the index of pending answers applies.
const PENDING = sql.lit('pending')

/** Of each conversation, only the oldest pending answer is sent. The others wait until it has arrived or failed. */
const isFirst = sql<boolean>`not exists (
  select 1 from chat_answers earlier where earlier.trigger_id = chat_answers.trigger_id
    and earlier.conversation = chat_answers.conversation and earlier.status = ${PENDING}
    and earlier.id < chat_answers.id)`

/** The triggers that have something to send, and when it is due. */
export async function survey(db: Database): Promise<{ project_id: string; trigger_id: string; due_at: number }[]> {
  return db
    .selectFrom('chat_answers')
    .innerJoin('agents', 'agents.id', 'chat_answers.agent_id')
    .select(({ fn }) => [
      'agents.project_id',
      'chat_answers.trigger_id',
      fn.min<number>('chat_answers.next_attempt_at').as('due_at'),
    ])
    .where('chat_answers.status', '=', PENDING)
    .where(isFirst)
    .where(({ not }) => not(isHeldBack))
    .groupBy(['agents.project_id', 'chat_answers.trigger_id'])
    .execute()
}

type TakeOptions = { trigger_id: string; limit: number; owner: string; lease_until: number; now: number }

/** Takes due answers of a trigger, longest due first, and says when the next one is due. */
export async function takeDue(db: Database, options: TakeOptions): Promise<WorkBatch<TakenAnswer>> {
  const { trigger_id, limit, owner, lease_until: until, now } = options
  const pending = db
    .selectFrom('chat_answers')
    .where('trigger_id', '=', trigger_id)
    .where('status', '=', PENDING)
    .where(isFirst)
    .where(({ not }) => not(isHeldBack))
  const due = pending
    .select('id')
    .where('next_attempt_at', '<=', now)
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(limit)
    .$if(engineOf(db) === 'postgres', (answers) => answers.forUpdate().skipLocked())
  const rows = limit > 0 ? await take<Tables['chat_answers']>(db, LEASED_ANSWERS, { due, owner, until }) : []
  const items = readable(db, rows, (row) => ({ ...fromRow(row), lease: { key: [row.id], owner, until } }))
  const { next } = await pending
    .select(({ fn }) => fn.min<number | null>('next_attempt_at').as('next'))
    .executeTakeFirstOrThrow()
  return { items, next: next ?? undefined }
}

/** Notes how many parts have arrived, and extends the lease. False if another node has the answer now. */
export async function keepPart(db: Database, { lease, parts_sent }: TakenAnswer, until: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('chat_answers')
    .set({ parts_sent, next_attempt_at: until })
    .where(isHeld(LEASED_ANSWERS, lease))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** What becomes of an answer after an attempt. */
export type AfterAnswer = Pick<ChatAnswer, 'status' | 'error' | 'next_attempt_at' | 'sent_at'> & { tries: number }

/** Stores the result of an attempt and how many parts have arrived, unless another node has the answer now. */
export async function endAttempt(db: Database, { lease, parts_sent }: TakenAnswer, after: AfterAnswer): Promise<void> {
  await db
    .updateTable('chat_answers')
    .set({ ...after, parts_sent, owner: null })
    .where(isHeld(LEASED_ANSWERS, lease))
    .execute()
}
