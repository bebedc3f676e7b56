import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import { removeRows } from '../../storage/queries/remove-rows.ts'
import type { ConnectionLink } from './connection-link.ts'

/** For an application that confirms late. */
const KEPT_MS = 2 * 24 * 3_600_000

export async function insert(db: Database, link: ConnectionLink): Promise<void> {
  await db.insertInto('connection_links').values(link).execute()
}

export async function find(db: Database, id: string): Promise<ConnectionLink | undefined> {
  return db.selectFrom('connection_links').selectAll().where('id', '=', id).executeTakeFirst()
}

/** A link that the service has made for its holder and that can be used until this time or longer. */
export async function findOwn(
  db: Database,
  { connection_id, holder, until }: { connection_id: string; holder: string; until: number },
): Promise<ConnectionLink | undefined> {
  return db
    .selectFrom('connection_links')
    .selectAll()
    .where('connection_id', '=', connection_id)
    .where('holder', '=', holder)
    .where('created_by', '=', BY_RUN)
    .where('spent_at', 'is', null)
    .where('expires_at', '>=', until)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The maker of links for runs that wait. */
export const BY_RUN = 'run'

/** Returns false if the link has been used already. */
export async function spend(db: Database, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('connection_links')
    .set({ spent_at: now })
    .where('id', '=', id)
    .where('spent_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function removeOfUser(
  db: Database,
  { project_id, holder }: { project_id: string; holder: string },
): Promise<void> {
  await db.deleteFrom('connection_links').where('project_id', '=', project_id).where('holder', '=', holder).execute()
}

export function removeExpired(db: Database, now: number, limit: number): Promise<number> {
  const which = sql<boolean>`expires_at < ${now - KEPT_MS}`
  return removeRows(db, 'connection_links', { which, limit })
}
