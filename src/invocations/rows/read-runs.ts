import { sql } from 'kysely'
import { readable } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import { columnsOf } from '../../storage/tables.ts'
import type { Invocation } from '../invocation.ts'
import { fromRun } from './invocation-rows.ts'

const DAMAGED = {
  code: 'server_error',
  message: "The run can't continue because its stored data is damaged.",
}

/** Reads the runs that a node should continue. Runs that can't be read end here, so no other run waits for them. */
export async function readRuns(
  db: Database,
  rows: readonly Parameters<typeof fromRun>[0][],
  now: number,
): Promise<Invocation[]> {
  const runs = readable(db, rows, fromRun)
  const read = new Set(runs.map(({ id }) => id))
  for (const { id } of rows) if (!read.has(id)) await endDamaged(db, id, now)
  return runs
}

const COLUMNS = columnsOf('invocations')

/** Ends a run that can't be read. Its receipt contains everything stored about it. */
export async function endDamaged(db: Database, id: string, now: number): Promise<void> {
  const end = (held: Database) => moveToReceipts(held, id, now)
  await (db.isTransaction ? end(db) : db.transaction().execute(end))
}

async function moveToReceipts(db: Database, id: string, now: number): Promise<void> {
  const ended = { status: 'failed', error: JSON.stringify(DAMAGED), finished_at: now }
  const values = COLUMNS.map((name) => (name in ended ? sql`${ended[name as 'status']}` : sql.ref(name)))
  const names = sql.join(COLUMNS.map((name) => sql.ref(name)))
  const isRunning = sql`id = ${id} and status = 'running'`
  await sql`insert into invocations (${names})
    select ${sql.join(values)} from all_invocations where ${isRunning}`.execute(db)
  await sql`delete from runs where ${isRunning}`.execute(db)
  await db.deleteFrom('steps').where('request_id', '=', id).execute()
}
