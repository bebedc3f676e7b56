import { type Expression, type SqlBool, sql } from 'kysely'
import { notFound } from '../errors.ts'
import { firstIdAt } from '../lib/id.ts'
import type { Parts } from '../operation/parts.ts'
import * as blobs from '../storage/bytes/blobs.ts'
import type { Database } from '../storage/database.ts'
import { longPage, type Page, type PageQuery } from '../storage/queries/page.ts'
import { projectLimit } from '../storage/queries/project-limit.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { StoredFile } from './file.ts'

const DAY_MS = 86_400_000

const IS_UNNAMED = sql`not exists (select 1 from schedule_files where schedule_files.file_id = files.id)`

export type FileFilter = {
  user_id?: string | undefined
  created_by?: string | undefined
  media_type?: string | undefined
  /** The ID before the first file's. */
  after?: string | undefined
}

/** The project of a file, and the agents whose files are not shown. */
type FileVisibility = Pick<ShownAgents, 'project_id' | 'except'>

/** A file that has not expired. */
export async function find(
  db: Database,
  { project_id, id, except }: FileVisibility & { id: string },
  now: number,
): Promise<StoredFile | undefined> {
  return db
    .selectFrom('files')
    .selectAll()
    .where('id', '=', id)
    .where('project_id', '=', project_id)
    .where(isCurrent(now))
    .where(isOfShown(db, except))
    .executeTakeFirst()
}

export async function get(db: Database, named: FileVisibility & { id: string }, now: number): Promise<StoredFile> {
  const file = await find(db, named, now)
  if (!file) throw notFound('File', named.id)
  return file
}

export async function list(
  db: Database,
  { project_id, except }: FileVisibility,
  query: PageQuery,
  filter: FileFilter,
  now: number,
): Promise<Page<StoredFile>> {
  let select = db.selectFrom('files').selectAll().where('project_id', '=', project_id).where(isCurrent(now))
  if (except.length > 0) select = select.where(isOfShown(db, except))
  for (const column of ['user_id', 'created_by', 'media_type'] as const) {
    const value = filter[column]
    if (value !== undefined) select = select.where(column, '=', value)
  }
  if (filter.after !== undefined) select = select.where('id', query.sort.startsWith('-') ? '<' : '>', filter.after)
  return longPage(db, select, query, { order: 'created_at' })
}

/**
 * A user's files after the one with the ID `after`, in order of creation. For some agents only, the files created by
 * their runs.
 */
export async function listOfUser(
  db: Database,
  { project_id, user_id, only = null, except = [] }: Partial<ShownAgents> & { project_id: string; user_id: string },
  after = '',
  limit = 500,
): Promise<StoredFile[]> {
  return db
    .selectFrom('files')
    .selectAll()
    .where('project_id', '=', project_id)
    .where('user_id', '=', user_id)
    .where(isShown(db, sql.ref('files.agent_id'), { only, except }))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** How many files a project or one of its users has, and their total size. */
export async function count(
  db: Database,
  { project_id, user_id = '' }: { project_id: string; user_id?: string },
): Promise<{ files: number; bytes: number }> {
  const counts = db.selectFrom('file_counts').select(['files', 'bytes'])
  const found = await counts.where('project_id', '=', project_id).where('user_id', '=', user_id).executeTakeFirst()
  return found ?? { files: 0, bytes: 0 }
}

export async function insert(db: Database, file: StoredFile): Promise<void> {
  await db.insertInto('files').values(file).execute()
}

/**
 * Moves the files created by an agent's runs and schedules to another project with it. The bytes stay where they are:
 * other files of the old project may share them, and they are removed with the last file that uses them. It needs a
 * transaction.
 */
export async function moveOfAgent(
  db: Database,
  { id, project_id: from }: { id: string; project_id: string },
  project_id: string,
): Promise<void> {
  if (from === project_id) return
  for (const held of [from, project_id].toSorted()) await blobs.holdProject(db, held)
  const moved = db.updateTable('files').set({ project_id }).where('project_id', '=', from)
  await moved.where('agent_id', '=', id).execute()
}

/** Removes files, and drops the bytes that no other file uses. It needs a transaction. Returns how many files. */
export async function remove(db: Database, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0
  await blobs.holdProjectsOf(db, 'id', ids)
  const removed = await db.deleteFrom('files').where('id', 'in', ids).returning('blob_id').execute()
  await blobs.dropUnused(db, [...new Set(removed.map(({ blob_id }) => blob_id))])
  return removed.length
}

/**
 * Begins to erase files: marks them as expired, and drops the bytes that no other file uses. The rows stay until the
 * bytes are removed, because they contain the bytes' owner. Returns the dropped blobs. It needs a transaction.
 */
async function beginErasing(db: Database, going: readonly StoredFile[]): Promise<blobs.DroppedBlob[]> {
  const ids = going.map(({ id }) => id)
  await blobs.holdProjectsOf(db, 'id', ids)
  await db.updateTable('files').set({ expires_at: 0 }).where('id', 'in', ids).execute()
  const blob_ids = [...new Set(going.map(({ blob_id }) => blob_id))]
  await blobs.dropUnused(db, blob_ids, ids)
  return blobs.listDroppedOf(db, blob_ids)
}

/** Removes the files of an invocation that was not admitted. */
export async function removeOfRequest(db: Database, request_id: string): Promise<number> {
  const found = await listOfRequest(db, request_id)
  return remove(
    db,
    found.map(({ id }) => id),
  )
}

/** The files of an invocation's message, or that its tools made. */
export function listOfRequest(db: Database, request_id: string): Promise<StoredFile[]> {
  return db.selectFrom('files').selectAll().where('request_id', '=', request_id).execute()
}

/** Removes files made before this time whose invocation is gone, or was never admitted, and that no schedule names. */
export function removeOfMissingRequests(db: Database, before: number, limit: number): Promise<number> {
  const isOld = sql`request_id is not null and id < ${firstIdAt('file', before)}`
  const isGone = sql`not exists (select 1 from all_invocations where all_invocations.id = files.request_id)`
  return removeSome(db, sql`${isOld} and ${isGone} and ${IS_UNNAMED}`, limit)
}

/**
 * Removes files that schedules created and that no schedule names any more. Files of the schedules in `needed` stay. A
 * file is stored together with the schedule that names it.
 */
export function removeOfSchedules(db: Database, needed: Expression<unknown>, limit: number): Promise<number> {
  const isOver = sql`schedule_id is not null and schedule_id not in ${needed}`
  return removeSome(db, sql`${isOver} and ${IS_UNNAMED}`, limit)
}

/**
 * Settles about `limit` files that tools of ended invocations have made. Files that the receipt names belong to it from
 * then on. Other files are removed, because the process died before their step was stored. Returns the number of files.
 * It needs a transaction.
 */
export async function settleUnclaimed(db: Database, limit: number): Promise<number> {
  const found = await db
    .selectFrom('files')
    .innerJoin('invocations', 'invocations.id', 'files.request_id')
    .select(['files.id', sql<boolean>`invocations.steps like '%"' || files.id || '"%'`.as('named')])
    .where('files.unclaimed', '=', 1)
    .limit(limit)
    .execute()
  const [named, lost] = [true, false].map((is) =>
    found.filter((file) => Boolean(file.named) === is).map(({ id }) => id),
  )
  if (named?.length) await db.updateTable('files').set({ unclaimed: 0 }).where('id', 'in', named).execute()
  await remove(db, lost ?? [])
  return found.length
}

/** Removes expired files: all, or those of a project or of one of its users. */
export function removeExpired(
  db: Database,
  now: number,
  limit: number,
  { project_id, user_id }: { project_id?: string; user_id?: string } = {},
): Promise<number> {
  const ofProject = project_id === undefined ? sql`` : sql`and project_id = ${project_id}`
  const ofUser = user_id === undefined ? sql`` : sql`and user_id = ${user_id}`
  return removeSome(db, sql`expires_at <= ${now} ${ofProject} ${ofUser}`, limit)
}

/** Removes files that were made before this time. */
export function removeOlder(db: Database, before: number, limit: number): Promise<number> {
  return removeSome(db, sql`id < ${firstIdAt('file', before)}`, limit)
}

/** Removes files that are past their project's retention. */
export async function removeOfProjects(db: Database, now: number, limit: number): Promise<number> {
  const days = projectLimit(db, 'retention_days')
  const { rows } = await sql<{ id: string; days: number }>`
    select id, ${days} as days from projects where ${days} is not null`.execute(db)
  for (const project of rows) {
    const before = firstIdAt('file', now - Number(project.days) * DAY_MS)
    const removed = await removeSome(db, sql`project_id = ${project.id} and id < ${before}`, limit)
    if (removed > 0) return removed
  }
  return 0
}

export function removeOfProject(db: Database, project_id: string, limit: number): Promise<number> {
  return removeSome(db, sql`project_id = ${project_id}`, limit)
}

export function removeOfMissingProjects(db: Database, limit: number): Promise<number> {
  return removeSome(db, sql`not exists (select 1 from projects where projects.id = files.project_id)`, limit)
}

/** A file whose bytes are dropped is being erased: its row is deleted after the bytes. */
async function removeSome(db: Database, which: Expression<SqlBool>, limit: number): Promise<number> {
  const isErased = sql`exists (select 1 from blobs where blobs.id = files.blob_id and blobs.state = 'dropped')`
  const found = await db
    .selectFrom('files')
    .select('id')
    .where(sql<SqlBool>`(${which}) and not ${isErased}`)
    .limit(limit)
    .execute()
  return remove(
    db,
    found.map(({ id }) => id),
  )
}

function isCurrent(now: number): Expression<SqlBool> {
  return sql<SqlBool>`(expires_at is null or expires_at > ${now})`
}

/** A request that can see the agent can also see the files of the agent's runs and schedules. */
function isOfShown(db: Database, except: readonly string[]): Expression<SqlBool> {
  return isShown(db, sql.ref('files.agent_id'), { only: null, except })
}

/**
 * Removes files before it returns, their bytes first. Clients can't see the files any more once it has started, and the
 * sweep completes what a crash interrupts. If bytes can't be removed, the rows of their files stay, so that the same
 * request finds them again, and `failure` says why.
 */
export async function eraseFiles(
  { storage, bytes }: Pick<Parts, 'storage' | 'bytes'>,
  found: readonly StoredFile[],
): Promise<{ removed: number; failure: unknown }> {
  if (found.length === 0) return { removed: 0, failure: undefined }
  const dropped = await storage.transaction((held) => beginErasing(held, found))
  const { gone, failure } = await bytes.clear(dropped)
  const left = new Set(dropped.flatMap(({ id }) => (gone.includes(id) ? [] : id)))
  const ids = found.flatMap(({ id, blob_id }) => (left.has(blob_id) ? [] : id))
  await storage.transaction(async (held) => {
    await remove(held, ids)
    await blobs.remove(held, gone)
  })
  return { removed: ids.length, failure }
}
