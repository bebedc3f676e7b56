import { sql } from 'kysely'
import { z } from 'zod'
import { conflict } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import * as pauses from '../pauses/store.ts'
import { withLimits } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import type { Database } from '../storage/database.ts'
import { findSetting, touch } from '../storage/stored-settings.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { CheckedFile } from './check-file.ts'

/** Who has paused a project whose import has begun. As long as this pause is there, the import can continue. */
const BY_IMPORT = 'import'
const UNFINISHED = 'This project is being imported, and is not complete yet'

/** An import can't continue after this time: until it ends, nothing old is removed from the store. */
const MOST_MS = 24 * 3_600_000

/** Whether an import has written a part of its rows. */
export async function isImporting(db: Database, now: number): Promise<boolean> {
  const unfinished = await db
    .selectFrom('pauses')
    .select('project_id')
    .where('paused_by', '=', BY_IMPORT)
    .where('reason', '=', UNFINISHED)
    .where('paused_at', '>', now - MOST_MS)
    .executeTakeFirst()
  return unfinished !== undefined
}

/** How far an import is. It's stored with each batch of rows, so a process that dies has done a batch or it hasn't. */
export type ImportState = {
  project_id: string
  /** The last line of the file that needs no more work. */
  line: number
  /** How many rows of each table were taken. */
  rows: Record<string, number>
  isDone: boolean
}

const State = z.object({
  project_id: z.string(),
  line: z.int(),
  rows: z.record(z.string(), z.int()),
  isDone: z.boolean(),
})

const nameOf = ({ sha256 }: Pick<CheckedFile, 'sha256'>) => `import ${sha256}`

/** How far an earlier process has come with the file. Undefined if its project is gone again. */
export async function findState(db: Database, file: CheckedFile): Promise<ImportState | undefined> {
  const text = await findSetting(db, nameOf(file))
  if (text === undefined) return undefined
  const state = State.parse(JSON.parse(text))
  return (await projects.find(db, state.project_id)) && state
}

/** Stores how far it is. Throws if another process imports the same file, or the project is used already. */
export async function putState(
  db: Database,
  file: CheckedFile,
  before: ImportState,
  after: ImportState,
  now: number,
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('settings')
    .set({ value: JSON.stringify(after) })
    .where('name', '=', nameOf(file))
    .where('value', '=', JSON.stringify(before))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw conflict('Another process is importing this file.')
  const pause = await db
    .selectFrom('pauses')
    .select(['paused_by', 'paused_at'])
    .where('project_id', '=', before.project_id)
    .executeTakeFirst()
  if (pause && pause.paused_at <= now - MOST_MS) {
    throw conflict('The import began more than a day ago. Delete the project, and import it again.')
  }
  if (pause?.paused_by === BY_IMPORT) return
  throw conflict('The project was resumed or deleted before its import was complete. Delete it, and import it again.')
}

type BeginNeeds = Pick<Parts, 'newId' | 'now'>

/** Makes the project, which is paused from its first moment. It needs a transaction. */
export async function beginImport(
  db: Database,
  file: CheckedFile,
  name: string,
  { newId, now }: BeginNeeds,
): Promise<ImportState> {
  await requireNew(db, file)
  await removeLeftovers(db, file)
  const time = now()
  const { description, limits, created_at } = file.header.project
  const settings = { description, limits: withLimits({}, limits as Parameters<typeof withLimits>[1]) }
  const existing = await projects.find(db, name)
  const project_id = existing?.id ?? newId('prj', time)
  if (existing) {
    await requireEmptyDefault(db, existing)
    await projects.update(db, project_id, { ...settings, updated_at: time })
  } else {
    const project = { ...settings, id: project_id, name, stored_bytes: null, created_at, updated_at: time }
    await projects.insert(db, project)
  }
  const pause = { project_id, reason: UNFINISHED, paused_by: BY_IMPORT, paused_at: time }
  if (!(await pauses.insert(db, pause))) throw conflict(`The project "${name}" is paused. Resume it first.`)
  const state = { project_id, line: 0, rows: {}, isDone: false }
  await touch(db, nameOf(file), JSON.stringify(state))
  return state
}

/** The project stays paused: the original may still run. */
export async function endPauseReason(db: Database, project_id: string, now: number): Promise<void> {
  const reason = 'Imported. Resume it when the original no longer runs'
  await pauses.insert(db, { project_id, reason, paused_by: BY_IMPORT, paused_at: now })
}

/** The first start makes the default project, so that one can be there. */
async function requireEmptyDefault(db: Database, { id, name }: { id: string; name: string }): Promise<void> {
  if (id !== DEFAULT_PROJECT) {
    throw conflict(`A project named "${name}" already exists. Choose another name with --as.`)
  }
  for (const table of ['agents', 'keys', 'webhooks', 'secrets', 'providers', 'prices', 'budgets', 'files'] as const) {
    const { rows } = await sql`select 1 from ${sql.table(table)} where project_id = ${id} limit 1`.execute(db)
    if (rows.length === 0) continue
    throw conflict(
      `The project "${name}" is not empty: it has ${table}. Delete them first, or choose another name with --as.`,
    )
  }
}

/** What was spent outlives budgets and projects. What an interrupted import has left of it comes again with the file. */
async function removeLeftovers(db: Database, file: CheckedFile): Promise<void> {
  const before = await findSetting(db, nameOf(file))
  const { project_id, isDone } = before === undefined ? NOTHING_BEFORE : State.parse(JSON.parse(before))
  for (const table of isDone ? [] : (['ledger', 'usage_sums'] as const))
    await db.deleteFrom(table).where('project_id', '=', project_id).execute()
  for (const budget_id of file.ids.budgets)
    await db.deleteFrom('budget_counters').where('budget_id', '=', budget_id).execute()
}

const NOTHING_BEFORE = { project_id: '', isDone: true }

const IDS_AT_ONCE = 500

/** IDs are kept, so that URLs and keys work as before. A service can have a project once. */
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
