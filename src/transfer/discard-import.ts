import { sql } from 'kysely'
import { conflict } from '../errors.ts'
import * as files from '../files/store.ts'
import { eventOfHost } from '../operation/audit-trail.ts'
import type { Parts } from '../operation/parts.ts'
import * as pauses from '../pauses/store.ts'
import * as projects from '../projects/store.ts'
import { announce, type Database } from '../storage/database.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import * as usage from '../usage/store.ts'
import { carriedNames, carriedTable } from './carried-tables.ts'
import { endState, listUnfinished } from './import-state.ts'
import { PARTS } from './transfer-parts.ts'

const AT_ONCE = 500

type DiscardNeeds = Pick<Parts, 'audit' | 'newId' | 'now' | 'storage'>

/**
 * Removes a project whose import isn't complete. If it is the default project, it is emptied. This can be repeated
 * after a crash. A background job removes what agents leave behind, as after the deletion of a project.
 */
export async function discardImport(parts: DiscardNeeds, ref: string): Promise<{ id: string; name: string }> {
  const { audit, newId, now, storage } = parts
  const { id, name } = await projects.get(storage.db, ref)
  const unfinished = (await listUnfinished(storage.db)).filter(({ project_id }) => project_id === id)
  if (unfinished.length === 0) throw conflict(`No import into "${name}" is incomplete.`)
  await storage.transaction(async (db) => {
    for (const state of unfinished) await endState(db, state)
  })
  if (id === DEFAULT_PROJECT) await removeAll(parts, (db, limit) => files.removeOfProject(db, id, limit))
  await storage.transaction(async (db) => {
    if (id === DEFAULT_PROJECT) await emptyDefault(db)
    else await projects.remove(db, id)
    await enqueue(db, { id: newId('job', now()), kind: 'purge', run_at: now() })
    const discarded = { action: 'discardImport', project_id: id, target: id, outcome: 'success' } as const
    await audit.record(db, eventOfHost(parts, discarded))
  })
  for (const { usage_id } of unfinished)
    await removeAll(parts, (db, limit) => usage.removeOfProject(db, usage_id, limit))
  await storage.transaction(async (db) => {
    const names = unfinished.map((state) => state.name)
    await db.deleteFrom('settings').where('name', 'in', names).execute()
    if (id === DEFAULT_PROJECT) await pauses.remove(db, id)
  })
  return { id, name }
}

/**
 * Removes what is left of imports whose projects were deleted before they were complete. Returns how many rows it
 * removed.
 */
export async function removeAbandoned(db: Database, limit: number): Promise<number> {
  for (const state of await listUnfinished(db)) {
    if ((await projects.find(db, state.project_id)) !== undefined) continue
    await endState(db, state)
    const removed = await usage.removeOfProject(db, state.usage_id, limit)
    if (removed > 0) return removed
    await db.deleteFrom('settings').where('name', '=', state.name).execute()
  }
  return 0
}

/** Removes everything that an import can have added. The rows of agents are deleted with them. */
async function emptyDefault(db: Database): Promise<void> {
  for (const table of carriedNames(PARTS).toReversed()) {
    const { by, where = sql`1 = 1` } = carriedTable(table)
    if (by === 'agent' || by === 'sequence' || table === 'ledger' || table === 'files') continue
    const isOfProject = by === 'project' ? sql`project_id = ${DEFAULT_PROJECT}` : by(DEFAULT_PROJECT)
    await sql`delete from ${sql.table(table)} where ${isOfProject} and ${where}`.execute(db)
  }
  await announceAll(db, DEFAULT_PROJECT)
}

/** Makes every node drop what it cached about the project. */
export async function announceAll(db: Database, project_id: string): Promise<void> {
  for (const change of ['projects', 'secrets', 'providers', 'prices', 'budgets'] as const)
    await announce(db, change, project_id)
  for (const change of ['agents', 'keys', 'deployments', 'webhooks', 'schedules'] as const) await announce(db, change)
}

/** Removes rows in batches until none are left. */
export async function removeAll(
  { now, storage }: Pick<Parts, 'now' | 'storage'>,
  remove: (db: Database, limit: number, now: number) => Promise<number>,
): Promise<void> {
  while ((await storage.transaction((db) => remove(db, AT_ONCE, now()))) > 0);
}
