import type { Selectable } from 'kysely'
import type { BulkTable, EndedTable, Ending, Write } from '../../storage/journal/rows.ts'
import type { Lease, Leased } from '../../storage/leases/lease.ts'
import { countInserted } from '../../storage/queries/count-changes.ts'
import {
  type CountedList,
  INVOCATIONS_OF_AGENT,
  INVOCATIONS_OF_DOOR,
  INVOCATIONS_OF_SCHEDULE,
  INVOCATIONS_OF_SESSION,
  INVOCATIONS_OF_STARTER,
  INVOCATIONS_OF_USER,
} from '../../storage/queries/counted-lists.ts'
import type { Tables } from '../../storage/tables.ts'
import type { Invocation } from '../invocation.ts'

type InvocationRow = Selectable<Tables['invocations']>

const BEGINNING = [
  'id',
  'agent_seq',
  'attempt',
  'background',
  'environment',
  'version',
  'deployment_id',
  'message',
  'context',
  'user_id',
  'session_id',
  'created_by',
  'own',
  'created_at',
  'started_at',
] as const
/** The columns that get their last values when the run ends. */
const END = [
  'status',
  'response',
  'error',
  'input_tokens',
  'output_tokens',
  'tokens_used',
  'duration_ms',
  'steps',
  'finished_at',
] as const
/** What only invocations through other doors than the API have. */
const DOOR = ['door', 'given', 'rounds'] as const
const LEASE = ['owner', 'lease_until', 'cancel_requested_at'] as const
const COLUMNS = [...BEGINNING, ...END] as const

/** What receipts show, without what only the next run of a conversation reads. */
export const RECEIPT = [...COLUMNS, 'keyed', 'schedule_id', 'scheduled_at', 'door', 'erased_at'] as const
type ReceiptRow = Pick<InvocationRow, (typeof RECEIPT)[number] | 'given' | 'rounds'>

const LISTS = [INVOCATIONS_OF_AGENT, INVOCATIONS_OF_USER, INVOCATIONS_OF_SESSION, INVOCATIONS_OF_STARTER]

const RUNS: BulkTable = { table: 'invocations', columns: COLUMNS, count: countInserted(LISTS, COLUMNS) }

/** The same for invocations that are stored before they end. */
const UNFINISHED: BulkTable = { ...RUNS, columns: [...COLUMNS, 'owner', 'lease_until', 'keyed', 'wake_at'] }

/** The same for queued invocations, which are announced to all nodes. */
const QUEUED: BulkTable = { ...RUNS, announces: 'queue' }
export const QUEUED_AGENT = COLUMNS.indexOf('agent_seq')

/** A running invocation is leased to the node that runs it. */
export const LEASED_RUNS: Leased = {
  table: 'invocations',
  key: ['id'],
  until: 'lease_until',
  condition: "status = 'running'",
}

const ENDED_RUNS: EndedTable = { ...LEASED_RUNS, columns: [...END, ...LEASE] }
/** The steps are removed, because the receipt has them from then on. */
const ENDED_STEPS: EndedTable = { ...ENDED_RUNS, drops: { table: 'steps', column: 'request_id' } }

/** The same for answers that ended with calls for the caller. */
const ENDED_RUNS_FOR_CALLER: EndedTable = { ...ENDED_RUNS, columns: [...ENDED_RUNS.columns, 'rounds'] }
const ENDED_STEPS_FOR_CALLER: EndedTable = { ...ENDED_STEPS, columns: [...ENDED_STEPS.columns, 'rounds'] }

/** A run that goes on. It has made progress, so earlier deaths of its nodes do not count any more. */
const RENEWED_RUNS: EndedTable = { ...LEASED_RUNS, columns: ['lease_until', 'lapses'] }

const WAITING_RUNS: EndedTable = {
  ...LEASED_RUNS,
  columns: ['status', 'background', 'wake_at', 'duration_ms', 'owner', 'lease_until'],
}

/** The same for invocations through other doors. */
const RUNS_OF_DOORS = ofDoors(RUNS)
const UNFINISHED_OF_DOORS = ofDoors(UNFINISHED)
const QUEUED_OF_DOORS = ofDoors(QUEUED)
/** The same for those that a schedule began. */
const SCHEDULED = ofDoors({ ...QUEUED, columns: [...COLUMNS, 'schedule_id', 'scheduled_at'] }, [
  INVOCATIONS_OF_SCHEDULE,
])

/** A row of one of these may begin to run. */
export const QUEUED_TABLES: readonly BulkTable[] = [QUEUED, QUEUED_OF_DOORS, SCHEDULED]

/** `lists` has the lists that these rows are in besides those of every invocation and of doors. */
function ofDoors(table: BulkTable, lists: readonly CountedList[] = []): BulkTable {
  const columns = [...table.columns, ...DOOR]
  return { ...table, columns, count: countInserted([...LISTS, INVOCATIONS_OF_DOOR, ...lists], columns) }
}

function doorValues({ door, given, rounds }: Invocation) {
  return [door, given && JSON.stringify(given), rounds && JSON.stringify(rounds)]
}

/** A row for the journal, for an invocation that is queued or has ended. */
export function insertion(invocation: Invocation): Write {
  const row = valuesOf(invocation)
  const isQueued = invocation.status === 'queued'
  if (invocation.door === 'api') return { into: isQueued ? QUEUED : RUNS, row }
  return { into: isQueued ? QUEUED_OF_DOORS : RUNS_OF_DOORS, row: [...row, ...doorValues(invocation)] }
}

/** A row for the journal, for an invocation that a schedule has queued. */
export function insertionScheduled(invocation: Invocation): Write {
  const { schedule_id, scheduled_at } = invocation
  return { into: SCHEDULED, row: [...valuesOf(invocation), schedule_id, scheduled_at, ...doorValues(invocation)] }
}

type Unfinished = { lease?: Lease; keyed: boolean; wake_at?: number }

/** A row for the journal, for an invocation that runs under a lease, or waits. */
export function insertionUnfinished(invocation: Invocation, { lease, keyed, wake_at }: Unfinished): Write {
  const more = [lease?.owner ?? null, lease?.until ?? null, keyed ? 1 : 0, wake_at ?? null]
  const row = [...valuesOf(invocation), ...more]
  if (invocation.door === 'api') return { into: UNFINISHED, row }
  return { into: UNFINISHED_OF_DOORS, row: [...row, ...doorValues(invocation)] }
}

/** The end of a running invocation, for the journal. It counts only if the owner still holds the run. */
export function ending(invocation: Invocation, owner: string, hasKeptSteps: boolean): Ending {
  const values = [...valuesOf(invocation).slice(BEGINNING.length), null, null, null]
  const who = [invocation.id, owner]
  if (!invocation.rounds) return { of: hasKeptSteps ? ENDED_STEPS : ENDED_RUNS, row: [...values, ...who] }
  const of = hasKeptSteps ? ENDED_STEPS_FOR_CALLER : ENDED_RUNS_FOR_CALLER
  return { of, row: [...values, JSON.stringify(invocation.rounds), ...who] }
}

/** The owner goes on with the run, if it still holds it. */
export function renewal({ key, owner, until }: Lease): Ending {
  return { of: RENEWED_RUNS, row: [until, 0, ...key, owner] }
}

/** The owner gives up the run, which goes on at a later time, in the background. */
export function waiting({ id, duration_ms }: Invocation, owner: string, wake_at: number): Ending {
  return { of: WAITING_RUNS, row: ['waiting', 1, wake_at, duration_ms, null, null, id, owner] }
}

export function toRow(invocation: Invocation): Pick<InvocationRow, (typeof COLUMNS)[number]> {
  const values = valuesOf(invocation)
  return Object.fromEntries(COLUMNS.map((column, i) => [column, values[i]])) as Pick<
    InvocationRow,
    (typeof COLUMNS)[number]
  >
}

/** One value for each column, of its type. */
type ValuesOf<C extends readonly (keyof InvocationRow)[]> = { -readonly [I in keyof C]: InvocationRow[C[I]] }

/** The values in the order of the columns. Every invocation uses this: an object would be several times slower. */
function valuesOf(invocation: Invocation): ValuesOf<typeof COLUMNS> {
  const { context, error, steps } = invocation
  return [
    invocation.id,
    invocation.agent_seq,
    invocation.attempt,
    invocation.background ? 1 : 0,
    invocation.environment,
    invocation.version,
    invocation.deployment_id,
    invocation.message,
    JSON.stringify(context),
    context.user_id ?? null,
    context.session_id ?? null,
    invocation.created_by,
    invocation.own ? 1 : 0,
    invocation.created_at,
    invocation.started_at,
    invocation.status,
    invocation.response,
    error === null ? null : JSON.stringify(error),
    invocation.input_tokens,
    invocation.output_tokens,
    invocation.tokens_used,
    invocation.duration_ms,
    steps.length === 0 ? '[]' : JSON.stringify(steps),
    invocation.finished_at,
  ]
}

export function fromRow(row: ReceiptRow & Partial<InvocationRow>): Invocation {
  const {
    context,
    error,
    steps,
    background,
    own,
    status,
    door,
    given,
    rounds,
    user_id: _user,
    session_id: _session,
    ...rest
  } = row
  const { owner: _owner, lease_until: _lease, cancel_requested_at: _cancel, lapses: _lapses, ...more } = rest
  const { keyed, wake_at: _wake, ...fields } = more
  return {
    ...fields,
    status: status as Invocation['status'],
    door: door as Invocation['door'],
    given: given === null ? null : JSON.parse(given),
    rounds: rounds === null ? null : JSON.parse(rounds),
    background: background === 1,
    own: own === 1,
    keyed: keyed === 1,
    context: JSON.parse(context),
    error: error === null ? null : JSON.parse(error),
    steps: JSON.parse(steps),
  }
}
