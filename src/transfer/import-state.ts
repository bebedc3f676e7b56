import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { z } from 'zod'
import { conflict } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import * as pauses from '../pauses/store.ts'
import { withLimits } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import type { Database } from '../storage/database.ts'
import { isRunning } from '../storage/jobs/jobs.ts'
import { BY_IMPORT } from '../storage/queries/paused-projects.ts'
import { findSetting, touch } from '../storage/stored-settings.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { CheckedFile } from './check/check-file.ts'

/** An import can't continue after this time, because until it ends, nothing old is removed from the store. */
const MOST_MS = 24 * 3_600_000

/** Whether an import is in progress, so part of its rows may be missing. */
export async function isImporting(db: Database, now: number): Promise<boolean> {
  const unfinished = await db
    .selectFrom('pauses')
    .select('project_id')
    .where('paused_by', '=', BY_IMPORT)
    .where('paused_at', '>', now - MOST_MS)
    .executeTakeFirst()
  return unfinished !== undefined
}

const ReadTable = z.object({ table: z.string(), rows: z.int(), sha256: z.string(), isEqual: z.boolean() })

/** A table as it was read back when it was complete, and whether it equals the file's. */
export type ReadTable = z.output<typeof ReadTable>

const State = z.object({
  project_id: z.string(),
  /**
   * The ID under which the file's usage is stored until the import is complete. Usage that the default project already
   * had must stay if the import is abandoned.
   */
  usage_id: z.string(),
  /** Whether the file's secrets are imported. */
  secrets: z.boolean(),
  /** The last line of the file that is completely done. */
  line: z.int(),
  /** How many rows of each table were read. */
  rows: z.record(z.string(), z.int()),
  /** How many of them were left out together with their secrets. */
  left: z.record(z.string(), z.int()),
  /** How many lines this service's ledger already contained. */
  known_lines: z.int(),
  read: z.array(ReadTable),
  status: z.enum(['unfinished', 'discarded', 'done']),
})

/**
 * The progress of an import. It is stored with each batch of rows, so if a process dies, a batch is either done or not.
 */
export type ImportState = z.output<typeof State>

const textOf = (state: ImportState) => JSON.stringify(State.parse(state))
const nameOf = ({ sha256 }: Pick<CheckedFile, 'sha256'>) => `import ${sha256}`

/** Explains how to start over. */
export function discarding(project: string): string {
  return `remove what was imported with \`moorage import --discard ${project}\`, and import the file again`
}

/**
 * How far an earlier process has got with the file. Undefined if its project is gone, or was emptied after the import.
 */
export async function findState(db: Database, file: CheckedFile): Promise<ImportState | undefined> {
  const text = await findSetting(db, nameOf(file))
  if (text === undefined) return undefined
  const state = State.parse(JSON.parse(text))
  if ((await projects.find(db, state.project_id)) === undefined) return undefined
  if (state.status === 'done' && state.project_id === DEFAULT_PROJECT && (await findContent(db)) === undefined)
    return undefined
  return state
}

/** The states of incomplete imports, by the names of their settings. */
export async function listUnfinished(db: Database): Promise<UnfinishedState[]> {
  const rows = await db.selectFrom('settings').selectAll().where('name', 'like', 'import %').execute()
  const states = rows.map(({ name, value }) => ({ name, ...State.parse(JSON.parse(value)) }))
  return states.filter(({ status }) => status !== 'done')
}

export type UnfinishedState = ImportState & { name: string }

/**
 * From now on, no process continues the import. Waits for a process that is storing a batch. Call this in a
 * transaction.
 */
export async function endState(db: Database, { name, ...state }: UnfinishedState): Promise<void> {
  const value = textOf({ ...state, status: 'discarded' })
  await db.updateTable('settings').set({ value }).where('name', '=', name).execute()
}

/** Stores the progress. Throws if another process is importing the same file, or the project was deleted. */
export async function putState(
  db: Database,
  file: CheckedFile,
  before: ImportState,
  after: ImportState,
  now: number,
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('settings')
    .set({ value: textOf(after) })
    .where('name', '=', nameOf(file))
    .where('value', '=', textOf(before))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw conflict('Another process is importing this file.')
  const pause = await db
    .selectFrom('pauses')
    .select(['paused_by', 'paused_at'])
    .where('project_id', '=', before.project_id)
    .executeTakeFirst()
  if (pause?.paused_by !== BY_IMPORT) throw conflict('The project was deleted before its import was complete.')
  if (pause.paused_at <= now - MOST_MS) throw conflict("The import began more than a day ago and can't be continued.")
}

type BeginNeeds = Pick<Parts, 'newId' | 'now'>

/** Creates the project, which is paused from the start. Call this in a transaction. */
export async function beginImport(
  db: Database,
  file: CheckedFile,
  { name, secrets }: { name: string; secrets: boolean },
  { newId, now }: BeginNeeds,
): Promise<ImportState> {
  const existing = await projects.find(db, name)
  if (existing) await requireEmptyDefault(db, existing, nameOf(file))
  await requireNew(db, file)
  const time = now()
  const { description, limits, created_at } = file.header.project
  const settings = { description, limits: withLimits({}, limits as Parameters<typeof withLimits>[1]) }
  const new_id = newId('prj', time)
  const project_id = existing?.id ?? new_id
  if (existing) await projects.update(db, project_id, { ...settings, updated_at: time })
  else {
    const project = { ...settings, id: project_id, name, stored_bytes: null, created_at, updated_at: time }
    await projects.insert(db, project)
  }
  for (const budget_id of file.ids.budgets)
    await db.deleteFrom('budget_counters').where('budget_id', '=', budget_id).execute()
  const reason = 'This project is being imported, and is not complete yet'
  const pause = { project_id, reason, paused_by: BY_IMPORT, paused_at: time }
  if (!(await pauses.insert(db, pause))) throw conflict(`The project "${name}" is paused. Resume it first.`)
  const nothing = { line: 0, rows: {}, left: {}, known_lines: 0, read: [], status: 'unfinished' as const }
  const state = { project_id, usage_id: new_id, secrets, ...nothing }
  await touch(db, nameOf(file), textOf(state))
  return state
}

/** The jobs that remove old rows (see background.ts). */
const SWEEPS = ['purge', 'file bytes', 'retention']
const LOOK_MS = 50
/** Before each of its batches, a sweep checks whether an import is in progress. */
const MOST_LOOKS = 1_200

/** Waits for the sweeps to end: a batch of a sweep may have begun before the import did, and must not see its rows. */
export async function sweepsToEnd({ storage, now }: Pick<Parts, 'storage' | 'now'>): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS && (await isRunning(storage.db, SWEEPS, now())); looks++) await wait(LOOK_MS)
}

/** The project is complete but stays paused, because the original may still be running. */
export async function endPauseReason(db: Database, project_id: string, reason: string, now: number): Promise<void> {
  await pauses.remove(db, project_id)
  await pauses.insert(db, { project_id, reason, paused_by: 'local', paused_at: now })
}

/** The first start creates the default project, so the target may already have one. */
async function requireEmptyDefault(
  db: Database,
  { id, name }: { id: string; name: string },
  state_name: string,
): Promise<void> {
  const unfinished = (await listUnfinished(db)).find(({ project_id }) => project_id === id)
  if (unfinished?.name === state_name) throw conflict('Another process is importing this file.')
  if (unfinished) {
    throw conflict(`The import of another file into "${name}" is not complete. Continue it, or ${discarding(name)}.`)
  }
  if (id !== DEFAULT_PROJECT) {
    throw conflict(`A project named "${name}" already exists. Choose another name with --as.`)
  }
  const found = await findContent(db)
  if (found === undefined) return
  throw conflict(
    `The project "${name}" is not empty: it has ${found}. Delete them first, or choose another name with --as.`,
  )
}

/** A table in which the default project has rows. */
async function findContent(db: Database): Promise<string | undefined> {
  for (const table of ['agents', 'keys', 'webhooks', 'secrets', 'providers', 'prices', 'budgets', 'files'] as const) {
    const { rows } = await sql`
      select 1 from ${sql.table(table)} where project_id = ${DEFAULT_PROJECT} limit 1`.execute(db)
    if (rows.length > 0) return table
  }
  return undefined
}

const IDS_AT_ONCE = 500

/** IDs are kept, so that URLs and keys work as before. So a service can contain a project only once. */
async function requireNew(db: Database, { ids, hashes }: CheckedFile): Promise<void> {
  const found = async (table: string, column: string, values: ReadonlySet<string>) => {
    const all = [...values]
    for (let start = 0; start < all.length; start += IDS_AT_ONCE) {
      const some = all.slice(start, start + IDS_AT_ONCE)
      const { rows } = await sql<{ known: string }>`
        select ${sql.ref(column)} as known from ${sql.table(table)}
        where ${sql.ref(column)} in (${sql.join(some)}) limit 1`.execute(db)
      if (rows[0]) return rows[0].known
    }
    return undefined
  }
  for (const [table, values] of Object.entries(ids)) {
    const known = await found(table, 'id', values)
    if (known !== undefined) {
      throw conflict(
        `This service already has ${known}, one of the ${table} in the file. IDs are kept, so a project can be imported only once.`,
      )
    }
  }
  for (const table of ['keys', 'earlier_secrets']) {
    if ((await found(table, 'hash', hashes)) !== undefined)
      throw conflict('This service already has one of the keys in the file.')
  }
}
