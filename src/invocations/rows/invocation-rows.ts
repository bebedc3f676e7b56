import type { Selectable } from 'kysely'
import { jsonOf } from '../../storage/damaged-rows.ts'
import { bulkTable } from '../../storage/journal/bulk-table.ts'
import type { EndedTable, LeaseEnd, Write } from '../../storage/journal/rows.ts'
import type { Lease, LeasedTable } from '../../storage/leases/lease.ts'
import { NO_OUTCOME } from '../../storage/tables/run-tables.ts'
import { columnsOf, type Tables } from '../../storage/tables.ts'
import { type EndedInvocation, type Invocation, type Priority, rankOf } from '../invocation.ts'

/** What receipts show: every column except those that only the next run of a conversation reads. */
export const RECEIPT = columnsOf('invocations', ['given', 'rounds'])

/** Runs that have not ended. */
const RUNS = bulkTable('runs', {
  without: ['begins_after', 'cancel_requested_at', 'lapses', 'place', 'wake_at', 'waits_for'],
})

const RUNS_IN_LINE = bulkTable('runs', {
  without: ['begins_after', 'cancel_requested_at', 'lapses', 'wake_at', 'waits_for'],
})

const RECEIPTS = bulkTable('invocations')

/** A running run is leased to the node that runs it. */
export const LEASED_RUNS: LeasedTable = {
  table: 'runs',
  key: ['id'],
  until: 'lease_until',
  condition: "status = 'running'",
}

/** The owner is enough as a condition, because a run that has an owner is running. */
const HELD_RUNS: LeasedTable = { ...LEASED_RUNS, condition: 'owner is not null' }

const ENDED_RUNS: EndedTable = HELD_RUNS

/** The first in line of a session gets its turn in the commit that ends the run which had it. */
const PASSES_TURN: EndedTable['next'] = {
  set: 'place = null',
  which: (key) =>
    `select ahead.id from runs ahead where ahead.session_key = ${key} and ahead.place is not null
      order by ahead.place, ahead.id limit 1`,
}

/** The steps are deleted, because the receipt now contains them. */
const ENDED_STEPS: EndedTable = { ...ENDED_RUNS, drops: { table: 'steps', column: 'request_id' } }

/** A run that continues. It has made progress, so earlier deaths of its nodes no longer count. */
const RENEWED_RUNS: EndedTable = { ...HELD_RUNS, columns: ['lease_until', 'lapses'] }

const WAITING_RUNS: EndedTable = {
  ...HELD_RUNS,
  columns: [
    'status',
    'background',
    'wake_at',
    'waits_for',
    'duration_ms',
    'tree',
    'deadline_at',
    'owner',
    'lease_until',
  ],
}

const PASSING = new Map([ENDED_RUNS, ENDED_STEPS, WAITING_RUNS].map((of) => [of, { ...of, next: PASSES_TURN }]))

/** How a run begins, besides the request itself. */
type Start = { project_id: string; lease?: Lease; session_key?: string | undefined; priority?: Priority }

/** A row for the journal, for a run that is queued or starts under a lease. */
export function insertion(
  invocation: Invocation,
  { project_id, lease, session_key, priority = 'normal' }: Start,
): Write {
  const start = { project_id, owner: lease?.owner, lease_until: lease?.until, session_key, priority }
  // A run that is queued again because its node died comes first.
  const rank = lease ? 0 : rankOf(invocation, priority)
  const { user_id, session_id } = invocation.context
  return { into: RUNS, row: { ...invocation, user_id, session_id, ...start, rank } }
}

/** A row for a run that waits for its session's turn. Its place in line is the time of its request, on any node. */
export function insertionInLine(invocation: Invocation, start: Start): Write {
  return { into: RUNS_IN_LINE, row: { ...insertion(invocation, start).row, place: invocation.created_at } }
}

/** The end of a run that has the turn of its session while others wait for it. */
export function passingTurn(end: LeaseEnd, session_key: string): LeaseEnd {
  const of = PASSING.get(end.of)
  return of ? { ...end, of, hands: session_key } : end
}

/** The receipt of a run that has ended, for the journal or for the transaction that deletes the run. */
export function receiptWrite(ended: EndedInvocation): Write {
  const { user_id, session_id } = ended.context
  return { into: RECEIPTS, row: { ...ended, user_id, session_id } }
}

/** Deletes a run that has ended, but only if the owner still has its lease. */
export function ending(id: string, owner: string, hasKeptSteps: boolean): LeaseEnd {
  return { of: hasKeptSteps ? ENDED_STEPS : ENDED_RUNS, lease: { key: [id], owner } }
}

/** The owner continues the run, if it still has the lease. */
export function renewal(lease: Lease): LeaseEnd {
  return { of: RENEWED_RUNS, lease, row: { lease_until: lease.until, lapses: 0 } }
}

/** The owner gives up the run, which continues later. */
export function waiting(
  { id, background, duration_ms, tree, deadline_at }: Invocation,
  owner: string,
  { until: wake_at, waits_for = null }: { until: number; waits_for?: string | null | undefined },
): LeaseEnd {
  const row = { status: 'waiting', background, wake_at, waits_for, duration_ms, tree, deadline_at }
  return { of: WAITING_RUNS, lease: { key: [id], owner }, row }
}

/** A row of the view of all invocations. */
type StoredInvocation = Selectable<Tables['all_invocations']>

export function fromRow(row: StoredInvocation): Invocation {
  const json = jsonOf('invocation', row)
  const { background, keyed, on_budget, structured, status, door, user_id: _user, session_id: _session, ...rest } = row
  return {
    ...rest,
    status: status as Invocation['status'],
    door: door as Invocation['door'],
    given: json('given'),
    rounds: json('rounds'),
    tree: json('tree'),
    attempts: json('attempts'),
    background: background === 1,
    keyed: keyed === 1,
    on_budget: on_budget as Invocation['on_budget'],
    structured: structured === 1,
    context: json('context'),
    attachments: json('attachments'),
    error: json('error'),
    steps: json('steps'),
  }
}

/** An invocation that has not ended. */
export function fromRun(row: Selectable<Tables['runs']>): Invocation {
  const { project_id: _project, begins_after: _after, owner: _owner, lease_until: _lease, ...more } = row
  const { cancel_requested_at: _cancel, lapses: _lapses, wake_at: _wake, waits_for: _waits, ...begun } = more
  const { session_key: _session, place: _place, priority: _priority, rank: _rank, ...asked } = begun
  return fromRow({ ...asked, ...NO_OUTCOME })
}
