import type { FactorState } from '../../security/one-time-code.ts'
import type { Database } from '../../storage/database.ts'
import type { Factor, FactorStatus } from './factor.ts'

export async function find(db: Database, key_id: string, status: FactorStatus): Promise<Factor | undefined> {
  const row = await db
    .selectFrom('key_factors')
    .selectAll()
    .where('key_id', '=', key_id)
    .where('status', '=', status)
    .executeTakeFirst()
  return row as Factor | undefined
}

export async function listOf(db: Database, key_id: string): Promise<Factor[]> {
  return (await db.selectFrom('key_factors').selectAll().where('key_id', '=', key_id).execute()) as Factor[]
}

/** Replaces a pending factor. The active factor stays active. */
export async function insertPending(db: Database, factor: Factor & { status: 'pending' }): Promise<void> {
  await remove(db, factor.key_id, 'pending')
  await db.insertInto('key_factors').values(factor).execute()
}

/** Makes the pending factor the active one. Returns false if no factor is pending. */
export async function activate(db: Database, key_id: string): Promise<boolean> {
  const pending = await find(db, key_id, 'pending')
  if (!pending || pending.last_step === null) return false
  await remove(db, key_id, 'active')
  const { numUpdatedRows } = await db
    .updateTable('key_factors')
    .set({ status: 'active' })
    .where('key_id', '=', key_id)
    .where('status', '=', 'pending')
    .where('secret', '=', pending.secret)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Replaces the state that was read. Returns false if another request has changed it in the meantime. */
export async function updateState(db: Database, read: Factor, state: FactorState): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('key_factors')
    .set({ ...state, version: read.version + 1 })
    .where('key_id', '=', read.key_id)
    .where('status', '=', read.status)
    .where('secret', '=', read.secret)
    .where('version', '=', read.version)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function remove(db: Database, key_id: string, status: FactorStatus): Promise<void> {
  await db.deleteFrom('key_factors').where('key_id', '=', key_id).where('status', '=', status).execute()
}
