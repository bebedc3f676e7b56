import { sql } from 'kysely'
import { STORED, type StoredCase, storedCase } from '../../invocations/cases/case-store.ts'
import type { Full } from '../../lib/work/fair-lanes.ts'
import type { WorkBatch } from '../../lib/work/worker.ts'
import { jsonOf, readable } from '../../storage/damaged-rows.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { isHeld, type Lease, type LeasedTable, take } from '../../storage/leases/lease.ts'
import { isGoingOn } from '../../storage/queries/paused-projects.ts'
import { type AnswerColumn, type AnswerColumns, COLUMNS, type ColumnName } from '../case-column.ts'
import type { CaseOutcome } from '../replay-record.ts'

/** A case is leased to the node that runs it. The lease ends at its `due_at`; then it is due again. */
export const LEASED_CASES: LeasedTable = {
  table: 'cases',
  key: ['id'],
  until: 'due_at',
  condition: 'due_at is not null and owner is not null',
}

/** A case that this node runs, and the columns that an earlier attempt has stored. */
export type TakenCase = StoredCase & AnswerColumns & { kept_by: string; agent_seq: number; tries: number; lease: Lease }

/** The agents that have cases to run, and when the first is due. Paused agents and projects are left out. */
export async function survey(db: Database): Promise<{ project_id: string; agent_seq: number; due_at: number }[]> {
  return db
    .selectFrom('cases')
    .innerJoin('agents', 'agents.seq', 'cases.agent_seq')
    .select(({ fn }) => ['agents.project_id', 'cases.agent_seq', fn.min<number>('cases.due_at').as('due_at')])
    .where('cases.due_at', 'is not', null)
    .where('agents.status', '=', 'running')
    .where(isGoingOn)
    .groupBy(['agents.project_id', 'cases.agent_seq'])
    .execute()
}

type TakeOptions = { agent_seq: number; limit: number; owner: string; lease_ms: number }

/**
 * Takes cases of an agent that are due, longest due first. If their node died, what they had reserved is counted as
 * spent.
 */
export async function takeDue(
  db: Database,
  { agent_seq, limit, owner, lease_ms }: TakeOptions,
  now: number,
): Promise<WorkBatch<TakenCase> & { next: number | Full | undefined }> {
  const mayRun = await db
    .selectFrom('agents')
    .select('seq')
    .where('seq', '=', agent_seq)
    .where('status', '=', 'running')
    .where(isGoingOn)
    .executeTakeFirst()
  if (!mayRun) return { items: [], next: undefined }
  const waiting = db.selectFrom('cases').where('agent_seq', '=', agent_seq).where('due_at', 'is not', null)
  const due = waiting
    .select('id')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .orderBy('id')
    .limit(limit)
    .$if(engineOf(db) === 'postgres', (cases) => cases.forUpdate().skipLocked())
  const until = now + lease_ms
  const names = sql.join(
    [...STORED, ...COLUMNS, 'kept_by', 'agent_seq', 'tries', 'held_nano', 'held_tokens'].map(sql.ref),
  )
  const rows = await take<TakenRow>(db, LEASED_CASES, { due, owner, until, returning: names })
  for (const { id, kept_by, held_nano, held_tokens } of rows) {
    const held = { nano: held_nano, tokens: held_tokens }
    if (held_nano > 0 || held_tokens > 0) await settle(db, { id, kept_by }, held, held)
  }
  const items = readable(
    db,
    rows.toSorted((a, b) => a.position - b.position),
    (row) => takenCase(row, { owner, until }),
  )
  const { next } = await waiting
    .select(({ fn }) => fn.min<number | null>('due_at').as('next'))
    .executeTakeFirstOrThrow()
  return { items, next: next ?? undefined }
}

type TakenRow = Parameters<typeof storedCase>[0] &
  Record<ColumnName, string | null> & {
    kept_by: string
    agent_seq: number
    tries: number
    held_nano: number
    held_tokens: number
  }

function takenCase(row: TakenRow, { owner, until }: { owner: string; until: number }): TakenCase {
  const { kept_by, agent_seq, tries } = row
  const json = jsonOf('case', row)
  const columns = { recorded: json('recorded'), baseline: json('baseline'), candidate: json('candidate') }
  const lease = { key: [row.id], owner, until }
  return { ...storedCase(row), ...(columns as AnswerColumns), kept_by, agent_seq, tries, lease }
}

/** What one call may need at most, or has used. */
export type Amount = { nano: number; tokens: number }

type HeldCase = { id: string; kept_by: string }

/** Reserves a part of the replay's limits for a call. Returns what is left if that isn't enough, or undefined. */
export async function reserve(
  db: Database,
  { id, kept_by }: HeldCase,
  { nano, tokens }: Amount,
): Promise<'granted' | 'held by others' | 'cost_usd' | 'tokens' | 'ended'> {
  const { numUpdatedRows } = await db
    .updateTable('replays')
    .set((row) => ({
      held_nano: sql`${row.ref('held_nano')} + ${nano}`,
      held_tokens: sql`${row.ref('held_tokens')} + ${tokens}`,
    }))
    .where('id', '=', kept_by)
    .where('status', '=', 'running')
    .where(sql<boolean>`(limit_nano is null or spent_nano + held_nano + ${nano} <= limit_nano)`)
    .where(sql<boolean>`(limit_tokens is null or spent_tokens + held_tokens + ${tokens} <= limit_tokens)`)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) {
    await addHeld(db, id, { nano, tokens })
    return 'granted'
  }
  const left = await db
    .selectFrom('replays')
    .select(['limit_nano', 'limit_tokens', 'spent_nano', 'spent_tokens'])
    .where('id', '=', kept_by)
    .where('status', '=', 'running')
    .executeTakeFirst()
  if (!left) return 'ended'
  if (left.limit_nano !== null && left.spent_nano + nano > left.limit_nano) return 'cost_usd'
  if (left.limit_tokens !== null && left.spent_tokens + tokens > left.limit_tokens) return 'tokens'
  return 'held by others'
}

/** Releases what a call has reserved, and counts what it has used. A cost of null is unknown. */
export async function settle(
  db: Database,
  { id, kept_by }: HeldCase,
  held: Amount,
  used: { nano: number | null; tokens: number },
): Promise<void> {
  const { nano, tokens } = used
  await db
    .updateTable('replays')
    .set({
      held_nano: sql`held_nano - ${held.nano}`,
      held_tokens: sql`held_tokens - ${held.tokens}`,
      spent_nano: sql`spent_nano + ${nano ?? 0}`,
      spent_tokens: sql`spent_tokens + ${tokens}`,
      unpriced: sql`unpriced + ${nano === null ? 1 : 0}`,
    })
    .where('id', '=', kept_by)
    .execute()
  await addHeld(db, id, { nano: -held.nano, tokens: -held.tokens })
}

async function addHeld(db: Database, id: string, { nano, tokens }: Amount): Promise<void> {
  await db
    .updateTable('cases')
    .set({ held_nano: sql`held_nano + ${nano}`, held_tokens: sql`held_tokens + ${tokens}` })
    .where('id', '=', id)
    .execute()
}

/**
 * Stores how a column answered. Returns false if another node has the case, or its replay was cancelled. Nothing is
 * stored of a case that was erased in the meantime.
 */
export async function keepColumn(
  db: Database,
  { lease }: TakenCase,
  name: ColumnName,
  column: AnswerColumn,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('cases')
    .set((row) => ({
      [name]: row.case().when('erased_at', 'is', null).then(JSON.stringify(column)).else(null).end(),
    }))
    .where(isHeld(LEASED_CASES, lease))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The case is done. Returns false as above. */
export async function end(db: Database, { lease }: TakenCase, outcome: CaseOutcome): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('cases')
    .set({ due_at: null, owner: null, outcome: sql`case when erased_at is null then ${outcome} else 'unknown' end` })
    .where(isHeld(LEASED_CASES, lease))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The case is run again at this time. */
export async function putOff(db: Database, { lease }: TakenCase, due_at: number, tries: number): Promise<void> {
  await db.updateTable('cases').set({ due_at, owner: null, tries }).where(isHeld(LEASED_CASES, lease)).execute()
}

/** Cases of a replay that no node runs now won't be run. */
export async function endWaiting(db: Database, kept_by: string): Promise<void> {
  await db
    .updateTable('cases')
    .set({ due_at: null, outcome: 'unknown' })
    .where('kept_by', '=', kept_by)
    .where('due_at', 'is not', null)
    .where('owner', 'is', null)
    .execute()
}

export async function hasUnfinished(db: Database, kept_by: string): Promise<boolean> {
  const left = await db
    .selectFrom('cases')
    .select('id')
    .where('kept_by', '=', kept_by)
    .where('due_at', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return left !== undefined
}
