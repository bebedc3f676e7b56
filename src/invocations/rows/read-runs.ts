import { readable } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import type { Invocation } from '../invocation.ts'
import { fromRow } from './invocation-rows.ts'

const DAMAGED = {
  code: 'server_error',
  message: 'The run cannot go on: what is stored of it is damaged',
}

/** Runs that a node is to go on with. Those that cannot be read end here, so that no other run waits for them. */
export async function readRuns(
  db: Database,
  rows: readonly Parameters<typeof fromRow>[0][],
  now: number,
): Promise<Invocation[]> {
  const runs = readable(db, rows, fromRow)
  const read = new Set(runs.map(({ id }) => id))
  for (const { id } of rows) if (!read.has(id)) await endDamaged(db, id, now)
  return runs
}

export async function endDamaged(db: Database, id: string, now: number): Promise<void> {
  const ended = { status: 'failed', error: JSON.stringify(DAMAGED), finished_at: now, owner: null, lease_until: null }
  await db.updateTable('invocations').set(ended).where('id', '=', id).where('status', '=', 'running').execute()
  await db.deleteFrom('steps').where('request_id', '=', id).execute()
}
