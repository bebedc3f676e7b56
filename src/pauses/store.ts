import type { Pause } from '../operation/pauses.ts'
import { announce, type Database } from '../storage/database.ts'
import { SERVICE_PAUSE } from '../storage/queries/paused-projects.ts'

export function list(db: Database): Promise<Pause[]> {
  return db.selectFrom('pauses').select(['project_id', 'reason', 'paused_by', 'paused_at']).execute()
}

/** The pause of the service, or else that of the project. */
export async function find(db: Database, project_id: string): Promise<Pause | undefined> {
  return pauseOf(await list(db), project_id)
}

export function pauseOf(pauses: readonly Pause[], project_id: string): Pause | undefined {
  const ofService = pauses.find((pause) => pause.project_id === null)
  return ofService ?? pauses.find((pause) => pause.project_id === project_id)
}

/** Pauses the project, or the service. If it is already paused, only the reason changes. Returns whether it wasn't. */
export async function insert(db: Database, pause: Pause): Promise<boolean> {
  const scope = scopeOf(pause.project_id)
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('pauses')
    .values({ scope, ...pause })
    .onConflict((known) => known.column('scope').doNothing())
    .executeTakeFirst()
  const isNew = numInsertedOrUpdatedRows === 1n
  if (!isNew) await db.updateTable('pauses').set({ reason: pause.reason }).where('scope', '=', scope).execute()
  await announce(db, 'pauses', pause.project_id ?? undefined)
  return isNew
}

/** Returns the pause that has ended, or undefined if there was none. */
export async function remove(db: Database, project_id: string | null): Promise<Pause | undefined> {
  const ended = await db
    .deleteFrom('pauses')
    .where('scope', '=', scopeOf(project_id))
    .returning(['project_id', 'reason', 'paused_by', 'paused_at'])
    .executeTakeFirst()
  if (ended) await announce(db, 'pauses', project_id ?? undefined)
  return ended
}

function scopeOf(project_id: string | null): string {
  return project_id ?? SERVICE_PAUSE
}
