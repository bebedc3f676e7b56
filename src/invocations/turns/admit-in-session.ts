import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import type { CountRun } from '../../operation/context.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { commitUnlessTaken } from '../../storage/journal/journal.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { insertIf } from '../../storage/journal/write-rows.ts'
import type { Lease } from '../../storage/leases/lease.ts'
import type { Invocation } from '../invocation.ts'
import * as rows from '../rows/invocation-rows.ts'
import { join } from './turn-store.ts'

/** A run that waits for the turn of its session. It is queued, and any node may take it. */
export type PutInLine = { queued: Invocation }

/** Why a run may not begin: its agent or project has no room, or its session is busy and rejects runs. */
type NotBegun = 'no_room' | 'session_busy'

type InSession = {
  invocation: Invocation
  agent: Agent
  definition: Definition
  session_key: string
  row: Write
  lease: Lease
  hasRoom: RawBuilder<SqlBool> | undefined
  countRun: CountRun | undefined
}

export type AdmitParts = Pick<Parts, 'journal' | 'live' | 'node' | 'now' | 'storage'>

/** Admits the runs of a session that arrive at this node one after the other, so none overtakes another. */
export function admitInSession(
  run: LiveRun,
  asked: InSession,
  parts: AdmitParts,
): Promise<NotBegun | PutInLine | undefined> {
  const { agent, session_key: key } = asked
  const before = parts.live.joinSession(run, { key, lane: laneKey(agent.project_id, agent.seq) })
  const admission = admitAfter(before, run, asked, parts)
  run.admission = admission.catch(() => {})
  return admission
}

/**
 * Most sessions are free. The run is then stored like any other, and the unique index of turns refuses it if another
 * run has the turn. Only then, or if the other run is on this node, is the other run looked up.
 */
async function admitAfter(
  before: LiveRun | undefined,
  run: LiveRun,
  { invocation, agent, definition, session_key, row, lease, hasRoom, countRun }: InSession,
  { journal, now, storage }: AdmitParts,
): Promise<NotBegun | PutInLine | undefined> {
  await before?.admission
  if (!before && !hasRoom && !countRun && (await commitUnlessTaken({ writes: [row], reserved: true }, journal))) {
    run.lease = lease
    return undefined
  }
  const { while_busy } = definition.sessions
  const queued = inLine(invocation)
  const start = { project_id: agent.project_id, session_key, priority: 'interactive' as const }
  const joining = { session_key, while_busy, begun: row, queued: rows.insertionInLine(queued, start), hasRoom }
  try {
    const joined = await storage.transaction(async (db) => {
      const place = await join(db, { ...joining, now: now() })
      if (place === 'no room') throw new NoRoom()
      if (place !== 'busy') await countRun?.(db)
      return place
    })
    if (joined === 'queued') return { queued }
    if (joined === 'busy') return 'session_busy'
  } catch (error) {
    if (error instanceof NoRoom) return 'no_room'
    throw error
  }
  run.lease = lease
  return undefined
}

/** Undoes the transaction, because a message that can't begin must not cancel the session's other runs. */
class NoRoom extends Error {}

/** A run that a client waits for and that waits for its turn. If its node dies, another node continues it. */
function inLine(invocation: Invocation): Invocation {
  return { ...invocation, status: 'queued', attempt: 0, started_at: null, keyed: true }
}

type Conditions = { hasRoom: RawBuilder<SqlBool> | undefined; countRun: CountRun | undefined }

/** Stores a run if there is room for it. A run that has to be counted is counted in the same transaction. */
export function insertCounted(
  storage: Pick<Parts['storage'], 'db' | 'transaction'>,
  row: Write,
  { hasRoom = sql<SqlBool>`true`, countRun }: Conditions,
): Promise<boolean> {
  if (!countRun) return insertIf(storage.db, row, hasRoom)
  return storage.transaction(async (db) => {
    const isStored = await insertIf(db, row, hasRoom)
    if (isStored) await countRun(db)
    return isStored
  })
}
