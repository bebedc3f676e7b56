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

/** Who has the turn of a session. */
type Holder = { id: string; status: string; attempt: number; owner: string | null } & RunLane

/** Where a run waits for a node that takes it. */
type RunLane = { agent_seq: number; project_id: string; priority: string }

/**
 * Locks the run that has the turn until the transaction ends. Its end waits for that, so a run that joins the line behind
 * it is never overlooked.
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

/** Whether a run of the session has the turn, or waits for it. One that waits for a person does neither. */
export async function isBusy(db: Database, session_key: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from runs where session_key = ${session_key} and ${HAS_TURN}
    union all select 1 from runs where session_key = ${session_key} and place is not null limit 1`.execute(db)
  return rows.length > 0
}

type Joining = {
  session_key: string
  while_busy: Definition['sessions']['while_busy']
  /** The row of a run that has the turn, and of one that has to wait for it. */
  begun: Write
  queued: Write
  /** Whether the limits allow a run that begins at once. */
  hasRoom?: RawBuilder<SqlBool> | undefined
  now: number
}

/**
 * Stores a run of a session in the caller's transaction: with the turn if it's free, else in line. `busy` and `no room` say
 * that nothing was stored.
 */
export async function join(db: Database, joining: Joining): Promise<'begun' | 'queued' | 'busy' | 'no room'> {
  const { session_key, while_busy, begun, queued, hasRoom, now } = joining
  for (;;) {
    const holder = await lockHolder(db, session_key)
    const first = await findFirstInLine(db, session_key)
    if (!holder && !first) {
      if (await insertIf(db, begun, hasRoom ?? sql<SqlBool>`true`, { unlessTaken: true })) return 'begun'
      // Another run got the turn at this moment, on another node. It may be over by now, so this one looks again.
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
 * The node that runs it learns that others wait for its end. If none runs it, the nodes look who has the turn by then: a
 * node may be taking it at this moment, and may have looked too early who waits for it.
 */
function announceAwaited(db: Database, session_key: string, holder: Holder | undefined): Promise<void> {
  return announce(db, 'turns', holder?.owner ? `${session_key} ${holder.id} ${holder.owner}` : session_key)
}

/** Whom a node should tell that others wait, or whose turn it should pass on. */
export function readAwaited(id: string): { session_key: string; holder?: string; owner?: string } {
  const [session_key = '', holder, owner] = id.split(' ')
  return holder && owner ? { session_key, holder, owner } : { session_key }
}

/** Every node passes the turn on, if it's free, when the transaction has committed. The first one does. */
export async function announceTurns(db: Database, runs: readonly { session_key: string | null }[]): Promise<void> {
  const keys = new Set(runs.flatMap(({ session_key }) => session_key ?? []))
  for (const key of keys) await announce(db, 'turns', key)
}

/**
 * Gives the turn to the first in line, if it's free. A run that has waited gets it before one that is queued and has not
 * begun. Behind a run that waits for those that it called, runs that others called go on without the turn: else two
 * agents that call each other could wait for each other. If the turn isn't free, the node that has it is told, unless it's
 * the run that is `told`. Returns the id of the run that had the turn.
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
    // Another run got it at the same moment.
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
    // A node that tried to take it while it was locked here has skipped it.
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

/** All nodes hear that a run can be taken from the queue. */
export function announceDue(db: Database, { project_id, agent_seq, priority }: RunLane): Promise<void> {
  const lane = laneKey(project_id, agent_seq)
  return announce(db, 'queue', priority === 'interactive' ? interactiveLane(lane) : lane)
}

/** How the lane is announced to those that take only interactive runs. */
export function interactiveLane(lane: string): string {
  return `${lane} interactive`
}

/**
 * Cancels what runs in the session, and what waits for its turn. What waits for people or a budget goes on. The turn is free
 * then, unless a run is in progress: it has the turn until it has stopped.
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

/** Sessions whose turn is free though runs are in line: a node died, or learned too late that others waited. */
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

/** How many runs of their session come before these, and one more. Runs that are not in line have no position. */
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

/** Returns a function that says which of the followed runs have ended, or have moved in line since it was last asked. */
export function followedChanges(db: Database): (ids: string[]) => Promise<string[]> {
  let known = new Map<string, number>()
  return async (ids) => {
    const [ended, positions] = await Promise.all([listEnded(db, ids), listPositions(db, ids)])
    const moved = ids.filter((id) => positions.get(id) !== known.get(id))
    known = positions
    return [...new Set([...ended, ...moved])]
  }
}
