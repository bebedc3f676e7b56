import { type ExpressionBuilder, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'
import type { Tables } from '../tables.ts'

/** Inserts the row. Call this before the first byte is written, so that bytes without a row never exist. */
export async function insert(
  db: Database,
  blob: Pick<Tables['blobs'], 'id' | 'project_id' | 'kept_in' | 'created_at'>,
) {
  await db
    .insertInto('blobs')
    .values({ ...blob, state: 'incoming', sha256: null })
    .execute()
}

export async function findPlace(db: Database, id: string): Promise<Tables['blobs']['kept_in'] | undefined> {
  const row = await db.selectFrom('blobs').select('kept_in').where('id', '=', id).executeTakeFirst()
  return row?.kept_in
}

/**
 * Keeps received bytes, in the transaction that refers to them. Returns the ID of the blob, or of an existing one if
 * the project already has the same bytes. Undefined if the bytes were removed because the upload took too long. The
 * caller locks the project, so two uploads of the same bytes can't both find none.
 */
export async function keep(
  db: Database,
  { id, project_id, sha256 }: { id: string; project_id: string; sha256: string },
): Promise<string | undefined> {
  const same = await db
    .selectFrom('blobs')
    .select('id')
    .where('project_id', '=', project_id)
    .where('sha256', '=', sha256)
    .where('state', '=', 'kept')
    // Waits for a transaction that is about to drop the blob, and then doesn't find it.
    .$if(engineOf(db) === 'postgres', (found) => found.forUpdate())
    .executeTakeFirst()
  if (same) return same.id
  const { numUpdatedRows } = await db
    .updateTable('blobs')
    .set({ state: 'kept', sha256 })
    .where('id', '=', id)
    .where('state', '=', 'incoming')
    .executeTakeFirst()
  return numUpdatedRows > 0n ? id : undefined
}

/** Until this transaction ends, no other transaction adds or removes files of the project. */
export async function holdProject(db: Database, project_id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await sql`select pg_advisory_xact_lock(hashtextextended(${`files of ${project_id}`}, 0))`.execute(db)
}

/**
 * Locks the projects of files that are being removed. This happens before counts and blobs change, as when files are
 * added, and always in the same order, so no two transactions deadlock.
 */
export async function holdProjectsOf(db: Database, column: 'id' | 'blob_id', ids: readonly string[]): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  const found = db.selectFrom('files').select('project_id').distinct().where(column, 'in', ids)
  for (const { project_id } of await found.orderBy('project_id').execute()) await holdProject(db, project_id)
}

/**
 * Drops those of the blobs that no file uses any more, not counting the files in `going`. Call this in a transaction.
 */
export async function dropUnused(db: Database, ids: readonly string[], going: readonly string[] = []): Promise<void> {
  if (ids.length === 0) return
  // A separate statement, because the statement that finds the files sees only what was committed before the rows were
  // locked.
  if (engineOf(db) === 'postgres') {
    await db.selectFrom('blobs').select('id').where('id', 'in', ids).orderBy('id').forUpdate().execute()
  }
  await db
    .updateTable('blobs')
    .set({ state: 'dropped' })
    .where('id', 'in', ids)
    .where('state', '=', 'kept')
    .where(isUnused(going))
    .execute()
}

/** Whether no file uses the blob, not counting the files in `going`. */
function isUnused(going: readonly string[]) {
  return ({ not, exists, selectFrom }: ExpressionBuilder<Tables, 'blobs'>) => {
    const having = selectFrom('files').select('files.id').whereRef('files.blob_id', '=', 'blobs.id')
    return not(exists(having.$if(going.length > 0, (others) => others.where('files.id', 'not in', going))))
  }
}

/** Drops bytes that no transaction has kept. Returns false if a transaction has kept them. */
export async function dropIncoming(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('blobs')
    .set({ state: 'dropped' })
    .where('id', '=', id)
    .where('state', '=', 'incoming')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Drops bytes that were received before this time and never kept, because their process has died. */
export async function dropStale(db: Database, before: number, limit: number): Promise<number> {
  const stale = db
    .selectFrom('blobs')
    .select('id')
    .where('state', '=', 'incoming')
    .where('created_at', '<', before)
    .limit(limit)
  const { numUpdatedRows } = await db
    .updateTable('blobs')
    .set({ state: 'dropped' })
    .where('id', 'in', stale)
    .where('state', '=', 'incoming')
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

export type DroppedBlob = Pick<Tables['blobs'], 'id' | 'kept_in'>

type DroppedQuery = { before: number; places: readonly Tables['blobs']['kept_in'][] }

/** Dropped blobs in these stores. Those whose removal failed longest ago come first. */
export async function listDropped(
  db: Database,
  { before, places }: DroppedQuery,
  limit: number,
): Promise<DroppedBlob[]> {
  return db
    .selectFrom('blobs')
    .select(['id', 'kept_in'])
    .where('state', '=', 'dropped')
    .where('created_at', '<=', before)
    .where('kept_in', 'in', places)
    .orderBy('created_at')
    .limit(limit)
    .execute()
}

/** Which of these blobs are dropped. */
export async function listDroppedOf(db: Database, ids: readonly string[]): Promise<DroppedBlob[]> {
  if (ids.length === 0) return []
  const select = db.selectFrom('blobs').select(['id', 'kept_in']).where('id', 'in', ids)
  return select.where('state', '=', 'dropped').execute()
}

/** Postpones dropped blobs that couldn't be removed. A sweep lists them again if it starts at this time or later. */
export async function postpone(db: Database, ids: readonly string[], until: number): Promise<void> {
  if (ids.length === 0) return
  await db
    .updateTable('blobs')
    .set({ created_at: until })
    .where('id', 'in', ids)
    .where('state', '=', 'dropped')
    .execute()
}

export async function isAnyPostponed(db: Database, until: number): Promise<boolean> {
  const dropped = db.selectFrom('blobs').select('id').where('state', '=', 'dropped')
  return (await dropped.where('created_at', '=', until).limit(1).executeTakeFirst()) !== undefined
}

/** Whether there are dropped blobs in other stores than these. */
export async function isAnyElsewhere(db: Database, places: readonly Tables['blobs']['kept_in'][]): Promise<boolean> {
  const dropped = db.selectFrom('blobs').select('id').where('state', '=', 'dropped')
  return (await dropped.where('kept_in', 'not in', places).limit(1).executeTakeFirst()) !== undefined
}

/**
 * Removes the rows of dropped blobs whose bytes have been removed, and the files that are being erased with them. Call
 * this in a transaction.
 */
export async function remove(db: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await holdProjectsOf(db, 'blob_id', ids)
  const dropped = db.selectFrom('blobs').select('id').where('id', 'in', ids).where('state', '=', 'dropped')
  await db.deleteFrom('files').where('blob_id', 'in', dropped).execute()
  await db.deleteFrom('blobs').where('id', 'in', dropped).execute()
}
