import { type Selectable, sql } from 'kysely'
import { notFound } from '../errors.ts'
import { firstIdAt } from '../lib/id.ts'
import { announce, type Database } from '../storage/database.ts'
import type { BulkTable, EndedTable, Ending, Write } from '../storage/journal/rows.ts'
import { hasLapsed, type Lease, type Leased } from '../storage/leases/lease.ts'
import { countInserted } from '../storage/queries/count-changes.ts'
import {
  INVOCATIONS_OF_AGENT,
  INVOCATIONS_OF_SESSION,
  INVOCATIONS_OF_STARTER,
  INVOCATIONS_OF_USER,
} from '../storage/queries/counted-lists.ts'
import { missingAgents } from '../storage/queries/missing-agents.ts'
import type { Tables } from '../storage/tables.ts'
import { type Invocation, UNFINISHED_STATUSES } from './invocation.ts'
import { readReceiptSteps } from './steps/receipt-steps.ts'
import { removeKept } from './steps/step-store.ts'

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
const LEASE = ['owner', 'lease_until', 'cancel_requested_at'] as const
const COLUMNS = [...BEGINNING, ...END] as const

const RUNS: BulkTable = {
  table: 'invocations',
  columns: COLUMNS,
  count: countInserted(
    [INVOCATIONS_OF_AGENT, INVOCATIONS_OF_USER, INVOCATIONS_OF_SESSION, INVOCATIONS_OF_STARTER],
    COLUMNS,
  ),
}

/** The same for invocations that are stored before they end. */
const UNFINISHED: BulkTable = { ...RUNS, columns: [...COLUMNS, 'owner', 'lease_until', 'keyed', 'wake_at'] }

/** The same for queued invocations, which are announced to all nodes. */
const QUEUED: BulkTable = { ...RUNS, announces: 'queue' }
export const QUEUED_AGENT = COLUMNS.indexOf('agent_seq')

/** The same for those that a schedule began. */
const SCHEDULED: BulkTable = { ...QUEUED, columns: [...COLUMNS, 'schedule_id', 'scheduled_at'] }

/** A row of one of these may begin to run. */
export const QUEUED_TABLES: readonly BulkTable[] = [QUEUED, SCHEDULED]

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

/** A run that goes on. It has made progress, so earlier deaths of its nodes do not count any more. */
const RENEWED_RUNS: EndedTable = { ...LEASED_RUNS, columns: ['lease_until', 'lapses'] }

const WAITING_RUNS: EndedTable = {
  ...LEASED_RUNS,
  columns: ['status', 'wake_at', 'duration_ms', 'owner', 'lease_until'],
}

/** A row for the journal, for an invocation that is queued or has ended. */
export function insertion(invocation: Invocation): Write {
  return { into: invocation.status === 'queued' ? QUEUED : RUNS, row: valuesOf(invocation) }
}

/** A row for the journal, for an invocation that a schedule has queued. */
export function insertionScheduled(invocation: Invocation): Write {
  return { into: SCHEDULED, row: [...valuesOf(invocation), invocation.schedule_id, invocation.scheduled_at] }
}

type Unfinished = { lease?: Lease; keyed: boolean; wake_at?: number }

/** A row for the journal, for an invocation that runs under a lease, or waits. */
export function insertionUnfinished(invocation: Invocation, { lease, keyed, wake_at }: Unfinished): Write {
  const more = [lease?.owner ?? null, lease?.until ?? null, keyed ? 1 : 0, wake_at ?? null]
  return { into: UNFINISHED, row: [...valuesOf(invocation), ...more] }
}

/** The end of a running invocation, for the journal. It counts only if the owner still holds the run. */
export function ending(invocation: Invocation, owner: string, hasKeptSteps: boolean): Ending {
  const values = [...valuesOf(invocation).slice(BEGINNING.length), null, null, null]
  return { of: hasKeptSteps ? ENDED_STEPS : ENDED_RUNS, row: [...values, invocation.id, owner] }
}

/** The owner goes on with the run, if it still holds it. */
export function renewal({ key, owner, until }: Lease): Ending {
  return { of: RENEWED_RUNS, row: [until, 0, ...key, owner] }
}

/** The owner gives up the run, which goes on at a later time. */
export function waiting({ id, duration_ms }: Invocation, owner: string, wake_at: number): Ending {
  return { of: WAITING_RUNS, row: ['waiting', wake_at, duration_ms, null, null, id, owner] }
}

/**
 * Ends an invocation that no node runs: it is queued or waits, or its owner has died. Returns false if a node runs it
 * after all.
 */
export async function endUnowned(db: Database, invocation: Invocation, now: number): Promise<boolean> {
  const { id, ...row } = toRow(invocation)
  const { numUpdatedRows } = await db
    .updateTable('invocations')
    .set({ ...row, owner: null, lease_until: null, cancel_requested_at: null, wake_at: null })
    .where('id', '=', id)
    .where((was) => was.or([was('status', 'in', ['queued', 'waiting']), hasLapsed(LEASED_RUNS, now)]))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await removeKept(db, [id])
  return true
}

export async function requestCancel(db: Database, id: string, now: number): Promise<void> {
  await db
    .updateTable('invocations')
    .set({ cancel_requested_at: now })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .execute()
  await announce(db, 'cancellations', id)
}

// The condition of the index of running invocations, in the same words: otherwise the index is not used.
const RUNNING = sql<boolean>`status = 'running'`

/** The runs of an owner that somebody wants to cancel. */
export async function listCancelRequested(db: Database, owner: string): Promise<string[]> {
  const rows = await db
    .selectFrom('invocations')
    .select('id')
    .where(RUNNING)
    .where('owner', '=', owner)
    .where('cancel_requested_at', 'is not', null)
    .execute()
  return rows.map(({ id }) => id)
}

/** Runs whose node has died. */
export async function listLapsed(db: Database, now: number, limit: number): Promise<Invocation[]> {
  const rows = await db.selectFrom('invocations').selectAll().where(hasLapsed(LEASED_RUNS, now)).limit(limit).execute()
  return rows.map(fromRow)
}

export async function find(db: Database, agent_seq: number, id: string): Promise<Invocation | undefined> {
  const row = await db
    .selectFrom('invocations')
    .selectAll()
    .where('id', '=', id)
    .where('agent_seq', '=', agent_seq)
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function get(db: Database, agent_seq: number, id: string): Promise<Invocation> {
  const invocation = await find(db, agent_seq, id)
  if (!invocation) throw notFound('Invocation', id)
  return invocation
}

/** Which of these have ended, or are gone. */
export async function listEnded(db: Database, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const unfinished = await db
    .selectFrom('invocations')
    .select('id')
    .where('id', 'in', ids)
    .where('status', 'in', UNFINISHED_STATUSES)
    .execute()
  const known = new Set(unfinished.map(({ id }) => id))
  return ids.filter((id) => !known.has(id))
}

/**
 * For retention: removes only ended invocations, a batch at a time. Their ids contain their age, so no index of times
 * is needed.
 */
export async function remove(db: Database, before: number, limit: number): Promise<number> {
  const old = db
    .selectFrom('invocations')
    .select('id')
    .where('id', '<', firstIdAt('req', before))
    .where('status', 'not in', UNFINISHED_STATUSES)
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('invocations').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}

/** Removes invocations of deleted agents. */
export async function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  const agents = await missingAgents(db, 'invocations')
  if (agents.length === 0) return 0
  const left = await db.selectFrom('invocations').select('id').where('agent_seq', 'in', agents).limit(limit).execute()
  const ids = left.map(({ id }) => id)
  if (ids.length === 0) return 0
  await removeKept(db, ids)
  const { numDeletedRows } = await db.deleteFrom('invocations').where('id', 'in', ids).executeTakeFirst()
  return Number(numDeletedRows)
}

function toRow(invocation: Invocation): Pick<InvocationRow, (typeof COLUMNS)[number]> {
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

export function fromRow(row: InvocationRow): Invocation {
  const { context, error, steps, background, status, user_id: _user, session_id: _session, ...rest } = row
  const { owner: _owner, lease_until: _lease, cancel_requested_at: _cancel, lapses: _lapses, ...more } = rest
  const { keyed, wake_at: _wake, ...fields } = more
  return {
    ...fields,
    status: status as Invocation['status'],
    background: background === 1,
    keyed: keyed === 1,
    context: JSON.parse(context),
    error: error === null ? null : JSON.parse(error),
    steps: readReceiptSteps(steps),
  }
}
