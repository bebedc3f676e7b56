import { type SqlBool, sql } from 'kysely'
import { needsNoSignIn } from '../../connections/grants/grant-store.ts'
import { firstIdAt } from '../../lib/id.ts'
import { jsonOf, readable } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import { bulkTable } from '../../storage/journal/bulk-table.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { removeAged } from '../../storage/queries/aged-rows.ts'
import { removeRowsOfMissingAgents } from '../../storage/queries/missing-agents.ts'
import { removeRows } from '../../storage/queries/remove-rows.ts'
import type { Tables } from '../../storage/tables.ts'
import { withoutToken } from '../steps/receipt-steps.ts'
import { appendStep } from '../steps/step-store.ts'
import { type Approval, type ApprovalStatus, type Settlement, settled } from './approval.ts'

const APPROVALS = bulkTable('approvals')

/** The approval as a row for the journal. */
export function approvalWrite(approval: Approval): Write {
  return { into: APPROVALS, row: toRow(approval) }
}

/** Finds the approval of a call. If the run asked people about the call twice, finds the later approval. */
export async function findApproval(db: Database, request_id: string, call_id: string): Promise<Approval | undefined> {
  const row = await db
    .selectFrom('approvals')
    .selectAll()
    .where('request_id', '=', request_id)
    .where('call_id', '=', call_id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function findById(db: Database, agent_seq: number, id: string): Promise<Approval | undefined> {
  const row = await db
    .selectFrom('approvals')
    .selectAll()
    .where('id', '=', id)
    .where('agent_seq', '=', agent_seq)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** The pending approvals of these runs, in the order of their calls. */
export async function listPending(db: Database, request_ids: readonly string[]): Promise<Approval[]> {
  if (request_ids.length === 0) return []
  const rows = await db
    .selectFrom('approvals')
    .selectAll()
    .where('request_id', 'in', request_ids)
    .where('status', '=', 'pending')
    .orderBy('request_id')
    .orderBy('call_index')
    .execute()
  return readable(db, rows, fromRow)
}

/** What waiting runs of a user's session ask, oldest first. */
export async function listPendingIn(
  db: Database,
  { agent_seq, user_id, session_id }: { agent_seq: number; user_id: string; session_id: string },
): Promise<Approval[]> {
  const runs = await db
    .selectFrom('runs')
    .select('id')
    .where('status', '=', 'waiting')
    .where('agent_seq', '=', agent_seq)
    .where('user_id', '=', user_id)
    .where('session_id', '=', session_id)
    .execute()
  return listPending(
    db,
    runs.map(({ id }) => id),
  )
}

/**
 * Approvals that wait for a sign-in which has happened, or never will because the connection was deleted. It costs
 * nothing while no run waits for one.
 */
export async function listConnected(db: Database, limit: number): Promise<Approval[]> {
  const rows = await db
    .selectFrom('approvals')
    .selectAll()
    .where('connection_id', 'is not', null)
    .where('status', '=', sql.lit('pending'))
    .where(needsNoSignIn('approvals'))
    .orderBy('id')
    .limit(limit)
    .execute()
  return readable(db, rows, fromRow)
}

/** Everything that these runs asked people, oldest first. */
export async function listOfRuns(db: Database, request_ids: readonly string[]): Promise<Approval[]> {
  if (request_ids.length === 0) return []
  const rows = await db
    .selectFrom('approvals')
    .selectAll()
    .where('request_id', 'in', request_ids)
    .orderBy('id')
    .execute()
  return readable(db, rows, fromRow)
}

/**
 * Settles an approval, and adds the decision to its run as a step. Call it in the transaction in which the run stops
 * waiting, or continues to wait for other approvals.
 */
export async function settleApproval(db: Database, approval: Approval, settlement: Settlement): Promise<Approval> {
  const { status, at, by, ...how } = settlement
  const after = settled(approval, settlement)
  const { decided_at, decided_by, changed_arguments, note, answer } = toRow(after)
  await db
    .updateTable('approvals')
    .set({ status, decided_at, decided_by, changed_arguments, note, answer })
    .where('id', '=', approval.id)
    .execute()
  // The run has been cancelled, and its steps are deleted or soon will be.
  if (status === 'cancelled') return after
  const { kind, call_id, tool, attempt, call_index: index, created_at: started_at, request_id } = approval
  const decided = { kind, call_id, tool, decision: status, by, ...how }
  await appendStep(db, request_id, { kind: 'approval', attempt, started_at, finished_at: at, logs: [], index, decided })
  return after
}

/** The approval shows another link from now on. */
export async function setLink(db: Database, id: string, link_id: string): Promise<void> {
  await db.updateTable('approvals').set({ link_id }).where('id', '=', id).execute()
}

/** Settles the pending approvals of runs that stop waiting because of a timeout, a pause or a cancellation. */
export async function settlePending(
  db: Database,
  request_ids: readonly string[],
  status: 'expired' | 'cancelled',
  at: number,
): Promise<void> {
  for (const approval of await listPending(db, request_ids)) {
    await settleApproval(db, approval, { status, at, by: null })
  }
}

/** Removes the texts and the user from the approvals of ended runs. */
export async function eraseFromApprovals(db: Database, request_ids: readonly string[]): Promise<void> {
  if (request_ids.length === 0) return
  for (const column of ['started_by', 'decided_by'] as const) {
    await db
      .updateTable('approvals')
      .set({ [column]: withoutToken('token:') })
      .where('request_id', 'in', request_ids)
      .where(column, 'like', 'token:%')
      .execute()
  }
  await db
    .updateTable('approvals')
    .set({
      arguments: '{}',
      changed_arguments: null,
      note: null,
      answer: null,
      user_id: null,
      session_id: null,
      holder: null,
      link_id: null,
      grant_id: null,
    })
    .where('request_id', 'in', request_ids)
    .execute()
}

/** Matches approvals that were requested and decided before this time. Their IDs contain the time of the request. */
const isOlder = (before: number) =>
  sql<SqlBool>`id < ${firstIdAt('apr', before)} and status <> 'pending' and decided_at < ${before}`

/** Removes at most `limit` decided approvals from before this time. Returns how many. */
export function removeApprovals(db: Database, before: number, limit: number): Promise<number> {
  return removeRows(db, 'approvals', { which: isOlder(before), limit })
}

/** Removes at most `limit` decided approvals that are past their project's retention. Returns how many. */
export function removeApprovalsOfProjects(db: Database, now: number, limit: number): Promise<number> {
  return removeAged(db, 'approvals', { now, limit, isOlder })
}

export function removeApprovalsOfMissingAgents(db: Database, limit: number): Promise<number> {
  return removeRowsOfMissingAgents(db, 'approvals', limit)
}

function toRow(approval: Approval): Tables['approvals'] {
  const { arguments: given, changed_arguments: changed, input_schema, connection: _shown, ...row } = approval
  return {
    ...row,
    arguments: JSON.stringify(given),
    input_schema: JSON.stringify(input_schema),
    changed_arguments: changed && JSON.stringify(changed),
  }
}

export function fromRow(row: Tables['approvals']): Approval {
  const json = jsonOf('approval', row)
  const { kind, status } = row
  return {
    ...row,
    kind: kind as Approval['kind'],
    status: status as ApprovalStatus,
    arguments: json('arguments'),
    input_schema: json('input_schema'),
    changed_arguments: json('changed_arguments'),
  }
}
