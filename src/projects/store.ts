import { conflict, notFound } from '../errors.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import { holdName } from '../storage/queries/hold-name.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { Tables } from '../storage/tables.ts'
import { type Project, withLimits } from './project.ts'

/** Finds a project by id or name. */
export async function find(db: Database, ref: string): Promise<Project | undefined> {
  const column = ref.startsWith('prj_') ? 'id' : 'name'
  const row = await db.selectFrom('projects').selectAll().where(column, '=', ref).executeTakeFirst()
  return row && fromRow(row)
}

export async function get(db: Database, ref: string): Promise<Project> {
  const project = await find(db, ref)
  if (!project) throw notFound('Project', ref)
  return project
}

/**
 * Locks the project until the transaction ends, so that changes which depend on its current state are made one after
 * the other.
 */
export async function lock(db: Database, id: string): Promise<Project> {
  const row = await db
    .selectFrom('projects')
    .selectAll()
    .where('id', '=', id)
    .$if(engineOf(db) === 'postgres', (select) => select.forUpdate())
    .executeTakeFirst()
  if (!row) throw notFound('Project', id)
  return fromRow(row)
}

/** All projects, or only one. */
export async function list(db: Database, query: PageQuery, only: string | undefined): Promise<Page<Project>> {
  const select = db
    .selectFrom('projects')
    .selectAll()
    .$if(only !== undefined, (all) => all.where('id', '=', only ?? ''))
  const { items, total } = await page(db, select, query)
  return { items: readable(db, items as Tables['projects'][], fromRow), total }
}

/** People can't choose from a longer list. The page of projects lists all of them. */
const MOST_TO_CHOOSE = 1_000

/** The projects to choose from, or the named ones among them: first the default project, then by name. */
export async function listToChoose(db: Database, ids?: readonly string[]): Promise<{ id: string; name: string }[]> {
  if (ids?.length === 0) return []
  return db
    .selectFrom('projects')
    .select(['id', 'name'])
    .$if(ids !== undefined, (all) => all.where('id', 'in', ids ?? []))
    .orderBy((project) => project.case().when('id', '=', DEFAULT_PROJECT).then(0).else(1).end())
    .orderBy('name')
    .limit(MOST_TO_CHOOSE)
    .execute()
}

/** Sets the times of the default project, which the statements that create the tables insert without them. */
export async function begin(db: Database, time: number): Promise<void> {
  const times = { created_at: time, updated_at: time }
  await db.updateTable('projects').set(times).where('id', '=', DEFAULT_PROJECT).execute()
}

export async function insert(db: Database, project: Project): Promise<void> {
  await holdName(db, { name: project.name })
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('projects')
    .values(toRow(project))
    .onConflict((name) => name.column('name').doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) throw nameTaken(project.name)
}

type ProjectChanges = Partial<Pick<Project, 'name' | 'description' | 'limits' | 'updated_at'>>

/** Changes the fields that are given. The caller has locked the project. */
export async function update(db: Database, id: string, { limits, ...changes }: ProjectChanges): Promise<void> {
  if (changes.name !== undefined) await requireFreeName(db, id, changes.name)
  const columns = { ...changes, ...(limits && { limits: JSON.stringify(limits) }) }
  await db.updateTable('projects').set(columns).where('id', '=', id).execute()
  await announce(db, 'projects', id)
}

async function requireFreeName(db: Database, id: string, name: string): Promise<void> {
  await holdName(db, { name })
  const holder = await db.selectFrom('projects').select('id').where('name', '=', name).executeTakeFirst()
  if (holder && holder.id !== id) throw nameTaken(name)
}

/** The projects that have a limit of stored bytes. */
export async function listMeasured(db: Database): Promise<Project[]> {
  const rows = await db.selectFrom('projects').selectAll().where('limits', 'like', '%"stored_bytes":%').execute()
  return readable(db, rows, fromRow).filter(({ limits }) => limits.stored_bytes !== null)
}

export async function keepMeasured(db: Database, id: string, stored_bytes: number): Promise<void> {
  await db.updateTable('projects').set({ stored_bytes }).where('id', '=', id).execute()
  await announce(db, 'projects', id)
}

/** The database removes all that belongs to the project by its foreign keys. The audit log keeps its entries. */
export async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('projects').where('id', '=', id).execute()
  for (const change of ['projects', 'secrets', 'providers', 'prices', 'agents_of_projects'] as const)
    await announce(db, change, id)
  // The IDs of the project's resources aren't known here, so every node drops everything of that kind.
  for (const change of ['agents', 'keys', 'deployments', 'webhooks'] as const) await announce(db, change)
}

function nameTaken(name: string) {
  return conflict(`A project named "${name}" already exists.`)
}

function fromRow(row: Tables['projects']): Project {
  return { ...row, limits: withLimits(jsonOf('project', row)('limits'), {}) }
}

function toRow({ limits, ...project }: Project): Tables['projects'] {
  return { ...project, limits: JSON.stringify(limits) }
}
