import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Definition } from '../../agents/definition.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import { announce, type Database, engineOf } from '../../storage/database.ts'
import { isDuplicate } from '../../storage/failures.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { insertIf, writeRows } from '../../storage/journal/write-rows.ts'
import type { Storage } from '../../storage/open-storage.ts'
import { hasTurn } from '../../storage/tables/run-tables.ts'
import { settlePending } from '../approvals/approval-store.ts'
import { FIRST_PLACE, QUEUED_AFTER_WAIT } from '../queue/queue-store.ts'
import { listEnded } from '../store.ts'

const HAS_TURN = sql.raw<SqlBool>(hasTurn())

/** The run that has the turn of a session. */
type Holder = { id: string; status: string; attempt: number; owner: string | null } & RunLane

/** The lane in which a run waits for a node to take it. */
type RunLane = { agent_seq: number; project_id: string; priority: string }

/**
 * Locks the run that has the turn until the transaction ends. The run can't end before that, so it never overlooks a
 * run that gets in line behind it.
 */
async function lockHolder(db: Database, session_key: string): Promise<Holder | undefined> {
  return db
    .selectFrom('runs')
    .select(['id', 'status', 'attempt', 'owner', 'agent_seq', 'project_id', 'priority'])
    .where('session_key', '=', session_key)
    .where(HAS_TURN)
    .$if(engineOf(db) === 'postgres', (runs) => runs.forUpdate())
    .executeTakeFirst()
}

type FirstInLine = { id: string; place: number } & RunLane

async function findFirstInLine(db: Database, session_key: string): Promise<FirstInLine | undefined> {
  const { rows } = await sql<FirstInLine>`
    select id, place, agent_seq, project_id, priority from runs
    where session_key = ${session_key} and place is not null order by place, id limit 1`.execute(db)
  return rows[0]
}

/** Whether a run of the session has the turn or waits for it. A run that waits for a person does neither. */
export async function isBusy(db: Database, session_key: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from runs where session_key = ${session_key} and ${HAS_TURN}
    union all select 1 from runs where session_key = ${session_key} and place is not null limit 1`.execute(db)
  return rows.length > 0
}

type Joining = {
  session_key: string
  while_busy: Definition['sessions']['while_busy']
  /** The row to store if the run has the turn. `queued` is the row if it has to wait. */
  begun: Write
  queued: Write
  /** Whether the limits allow a run to begin immediately. */
  hasRoom?: RawBuilder<SqlBool> | undefined
  now: number
}

/**
 * Stores a run of a session in the caller's transaction: with the turn if the turn is free, otherwise in line. `busy`
 * and `no room` mean that nothing was stored.
 */
export async function join(db: Database, joining: Joining): Promise<'begun' | 'queued' | 'busy' | 'no room'> {
  const { session_key, while_busy, begun, queued, hasRoom, now } = joining
  for (;;) {
    const holder = await lockHolder(db, session_key)
    const first = await findFirstInLine(db, session_key)
    if (!holder && !first) {
      if (await insertIf(db, begun, hasRoom ?? sql<SqlBool>`true`, { unlessTaken: true })) return 'begun'
      // Another node's run got the turn in between. It may already be over, so this loop checks again.
      if (!hasRoom || (await isBusy(db, session_key))) continue
      return 'no room'
    }
    if (while_busy === 'reject') return 'busy'
    if (while_busy === 'cancel') {
      await cancelSession(db, session_key, now)
      if (holder?.status !== 'running') continue
    }
    await writeRows(db, [queued])
    await announceAwaited(db, session_key, holder)
    return 'queued'
  }
}

/**
 * Tells the node that runs the holder that others wait for its end. If no node runs it, every node checks who has the
 * turn after the commit: a node may be taking the holder right now, and may have checked too early who waits for it.
 */
function announceAwaited(db: Database, session_key: string, holder: Holder | undefined): Promise<void> {
  return announce(db, 'turns', holder?.owner ? `${session_key} ${holder.id} ${holder.owner}` : session_key)
}

/**
 * Reads an announcement: either which run should be told that others wait, or which session's turn should be passed on.
 */
export function readAwaited(id: string): { session_key: string; holder?: string; owner?: string } {
  const [session_key = '', holder, owner] = id.split(' ')
  return holder && owner ? { session_key, holder, owner } : { session_key }
}

/** When the transaction has committed, every node tries to pass the turn on if it's free. The first one succeeds. */
export async function announceTurns(db: Database, runs: readonly { session_key: string | null }[]): Promise<void> {
  const keys = new Set(runs.flatMap(({ session_key }) => session_key ?? []))
  for (const key of keys) await announce(db, 'turns', key)
}

/**
 * Gives the turn to the first run in line, if the turn is free. A run that continues after a wait gets it before a
 * queued run that has not begun. While the holder waits for runs that it called, runs in line that were called by
 * others begin without the turn. Otherwise, two agents that call each other could wait for each other. If the turn
 * isn't free, the node that runs the holder is told, unless the holder is `told`. Returns the ID of the holder.
 */
export async function passTurn(
  storage: Pick<Storage, 'transaction'>,
  session_key: string,
  told?: string,
): Promise<string | undefined> {
  try {
    return await storage.transaction(async (db) => {
      const holder = await lockHolder(db, session_key)
      if (!holder?.owner || holder.id !== told) await passTurnIn(db, session_key, holder)
      return holder?.id
    })
  } catch (error) {
    // Another run got the turn at the same moment.
    if (!isDuplicate(error)) throw error
    return undefined
  }
}

async function passTurnIn(db: Database, session_key: string, holder: Holder | undefined): Promise<void> {
  const first = await findFirstInLine(db, session_key)
  if (!first) return
  if (holder?.status === 'waiting') return letCalledBegin(db, session_key)
  if (holder) {
    if (holder.owner) return announceAwaited(db, session_key, holder)
    const mayOvertake = first.place === FIRST_PLACE && holder.attempt === 0
    // A node that tried to take the holder while it was locked here has skipped it, so it is announced again.
    if (!mayOvertake) return announceDue(db, holder)
    await db
      .updateTable('runs')
      .set(({ ref }) => ({ place: ref('created_at') }))
      .where('id', '=', holder.id)
      .execute()
  }
  await db.updateTable('runs').set({ place: null }).where('id', '=', first.id).where('place', 'is not', null).execute()
  await announceDue(db, first)
}

async function letCalledBegin(db: Database, session_key: string): Promise<void> {
  const begun = await db
    .updateTable('runs')
    .set({ session_key: null, place: null })
    .where('session_key', '=', session_key)
    .where('place', 'is not', null)
    .where('parent_request_id', 'is not', null)
    .returning(['project_id', 'agent_seq', 'priority'])
    .execute()
  for (const run of begun) await announceDue(db, run)
}

/** Tells all nodes that a run can be taken from the queue. */
export function announceDue(db: Database, { project_id, agent_seq, priority }: RunLane): Promise<void> {
  const lane = laneKey(project_id, agent_seq)
  return announce(db, 'queue', priority === 'interactive' ? interactiveLane(lane) : lane)
}

/** How the lane is announced to workers that take only interactive runs. */
export function interactiveLane(lane: string): string {
  return `${lane} interactive`
}

/**
 * Cancels the session's runs that are in progress or wait for the turn. Runs that wait for people or a budget continue
 * to wait. The turn is free afterwards, unless a run is in progress, which keeps the turn until it has stopped.
 */
export async function cancelSession(db: Database, session_key: string, now: number): Promise<void> {
  const ofSession = db.updateTable('runs').where('session_key', '=', session_key)
  const asked = { cancel_requested_at: now }
  const stopping = await ofSession.set(asked).where(HAS_TURN).where('status', '=', 'running').returning('id').execute()
  // The others are taken from the queue only to be ended.
  const due = { ...asked, session_key: null, place: null }
  const woken = { ...QUEUED_AFTER_WAIT, ...due }
  const waiting = await ofSession.set(woken).where(HAS_TURN).where('status', '=', 'waiting').returning('id').execute()
  const queued = await ofSession.set(due).where('status', '=', 'queued').returning('id').execute()
  const ids = [...stopping, ...waiting, ...queued].map(({ id }) => id)
  await settlePending(db, ids, 'cancelled', now)
  await announce(db, 'queue')
  await announce(db, 'cancellations')
}

/**
 * Sessions whose turn is free although runs are in line, because a node died or learned too late that others waited.
 */
export async function listFreeTurns(db: Database, limit: number): Promise<string[]> {
  const { rows } = await sql<{ session_key: string }>`
    select distinct session_key from runs
    where place is not null and session_key is not null and (
      not exists (select 1 from runs holder where holder.session_key = runs.session_key
        and ${sql.raw(hasTurn('holder.'))})
      or (parent_request_id is not null and exists (select 1 from runs holder
        where holder.session_key = runs.session_key and holder.place is null
          and holder.status = 'waiting' and holder.waits_for = 'children')))
    limit ${limit}`.execute(db)
  return rows.map(({ session_key }) => session_key)
}

/** Each run's position in the line of its session, starting at 1. Runs that aren't in line have no position. */
export async function listPositions(db: Database, ids: readonly string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: string; position: number }>`
    select id, position from (
      select id, row_number() over (partition by session_key order by place, id) as position
      from runs where place is not null and session_key in (
        select session_key from runs where id in (${sql.join(ids)}) and place is not null)
    ) lined where id in (${sql.join(ids)})`.execute(db)
  return new Map(rows.map(({ id, position }) => [id, Number(position)]))
}

/** Returns a function that says which of the followed runs have ended or moved in line since its last call. */
export function followedChanges(db: Database): (ids: string[]) => Promise<string[]> {
  let known = new Map<string, number>()
  return async (ids) => {
    const [ended, positions] = await Promise.all([listEnded(db, ids), listPositions(db, ids)])
    const moved = ids.filter((id) => positions.get(id) !== known.get(id))
    known = positions
    return [...new Set([...ended, ...moved])]
  }
}
