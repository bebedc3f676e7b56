import type { Selectable } from 'kysely'
import { jsonOf } from '../../storage/damaged-rows.ts'
import type { BulkTable, EndedTable, Ending, Write } from '../../storage/journal/rows.ts'
import type { Lease, Leased } from '../../storage/leases/lease.ts'
import type { Tables } from '../../storage/tables.ts'
import type { Invocation } from '../invocation.ts'

type InvocationRow = Selectable<Tables['invocations']>

/** What receipts show, without what only the next run of a conversation reads. */
export const RECEIPT = [
  'id',
  'agent_seq',
  'attempt',
  'attempts',
  'background',
  'keyed',
  'on_budget',
  'door',
  'environment',
  'version',
  'deployment_id',
  'message',
  'context',
  'attachments',
  'user_id',
  'session_id',
  'schedule_id',
  'authors',
  'scheduled_at',
  'parent_request_id',
  'call_key',
  'tree',
  'deadline_at',
  'created_by',
  'person_id',
  'created_at',
  'started_at',
  'status',
  'response',
  'structured',
  'error',
  'input_tokens',
  'output_tokens',
  'tokens_used',
  'cost_nano',
  'duration_ms',
  'steps',
  'finished_at',
  'erased_at',
] as const

const COLUMNS = [...RECEIPT, 'given', 'rounds', 'owner', 'lease_until'] as const

const INVOCATIONS: BulkTable = { table: 'invocations', columns: COLUMNS }

/** A running invocation is leased to the node that runs it. */
export const LEASED_RUNS: Leased = {
  table: 'invocations',
  key: ['id'],
  until: 'lease_until',
  condition: "status = 'running'",
}

const NO_LEASE = { owner: null, lease_until: null }

const ENDED_RUNS: EndedTable = {
  ...LEASED_RUNS,
  columns: [
    'status',
    'response',
    'structured',
    'attachments',
    'error',
    'input_tokens',
    'output_tokens',
    'tokens_used',
    'cost_nano',
    'duration_ms',
    'steps',
    'rounds',
    'finished_at',
    'deadline_at',
    'owner',
    'lease_until',
    'cancel_requested_at',
  ],
}
/** The steps are removed, because the receipt has them from then on. */
const ENDED_STEPS: EndedTable = { ...ENDED_RUNS, drops: { table: 'steps', column: 'request_id' } }

/** A run that goes on. It has made progress, so earlier deaths of its nodes do not count any more. */
const RENEWED_RUNS: EndedTable = { ...LEASED_RUNS, columns: ['lease_until', 'lapses'] }

const WAITING_RUNS: EndedTable = {
  ...LEASED_RUNS,
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

/** A row for the journal, for an invocation that is queued, or that begins under a lease. */
export function insertion(invocation: Invocation, lease?: Lease): Write {
  const held = lease ? { owner: lease.owner, lease_until: lease.until } : NO_LEASE
  return { into: INVOCATIONS, row: { ...toRow(invocation), ...held } }
}

/** The end of a running invocation, for the journal. It counts only if the owner still holds the run. */
export function ending(invocation: Invocation, owner: string, hasKeptSteps: boolean): Ending {
  const of = hasKeptSteps ? ENDED_STEPS : ENDED_RUNS
  return { of, lease: { key: [invocation.id], owner }, row: { ...toRow(invocation), ...NO_LEASE } }
}

/** The owner goes on with the run, if it still holds it. */
export function renewal(lease: Lease): Ending {
  return { of: RENEWED_RUNS, lease, row: { lease_until: lease.until, lapses: 0 } }
}

/** The owner gives up the run, which goes on later. */
export function waiting(
  { id, background, duration_ms, tree, deadline_at }: Invocation,
  owner: string,
  { until: wake_at, waits_for = null }: { until: number; waits_for?: string | null | undefined },
): Ending {
  const kept = { background: background ? 1 : 0, tree: tree && JSON.stringify(tree), deadline_at }
  const row = { status: 'waiting', wake_at, waits_for, duration_ms, ...kept, ...NO_LEASE }
  return { of: WAITING_RUNS, lease: { key: [id], owner }, row }
}

export function toRow(invocation: Invocation) {
  const {
    context,
    error,
    given,
    rounds,
    steps,
    tree,
    background,
    keyed,
    structured,
    attachments,
    attempts,
    ...fields
  } = invocation
  return {
    ...fields,
    attempts: attempts && JSON.stringify(attempts),
    background: background ? 1 : 0,
    keyed: keyed ? 1 : 0,
    structured: structured ? 1 : 0,
    context: JSON.stringify(context),
    user_id: context.user_id ?? null,
    session_id: context.session_id ?? null,
    error: error && JSON.stringify(error),
    attachments: attachments && JSON.stringify(attachments),
    given: given && JSON.stringify(given),
    rounds: rounds && JSON.stringify(rounds),
    tree: tree && JSON.stringify(tree),
    steps: JSON.stringify(steps),
  }
}

type ReceiptRow = Pick<InvocationRow, (typeof RECEIPT)[number] | 'given' | 'rounds'>

export function fromRow(row: ReceiptRow & Partial<InvocationRow>): Invocation {
  const json = jsonOf('invocation', row)
  const { background, status, door, user_id: _user, session_id: _session, ...rest } = row
  const { owner: _owner, lease_until: _lease, cancel_requested_at: _cancel, lapses: _lapses, ...more } = rest
  const { keyed, on_budget, structured, wake_at: _wake, waits_for: _waits, begins_after: _after, ...fields } = more
  return {
    ...fields,
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
