import type { Database } from '../../storage/database.ts'
import { type Page, type PageQuery, page } from '../../storage/queries/page.ts'
import type { Invitation } from './invitation.ts'

export async function find(db: Database, id: string): Promise<Invitation | undefined> {
  return db.selectFrom('invitations').selectAll().where('id', '=', id).executeTakeFirst()
}

/** A project's invitations or, with access to all projects, every invitation. */
export async function list(
  db: Database,
  query: PageQuery,
  { project_id, reach }: { project_id: string; reach: 'project' | 'service' },
): Promise<Page<Invitation>> {
  const select = db
    .selectFrom('invitations')
    .selectAll()
    .where((one) => {
      const isHere = one('project_id', '=', project_id)
      return reach === 'service' ? one.or([isHere, one('project_id', 'is', null)]) : isHere
    })
  return page(db, select, query) as Promise<Page<Invitation>>
}

export async function insert(db: Database, invitation: Invitation): Promise<void> {
  await db.insertInto('invitations').values(invitation).execute()
}

/**
 * Takes the invitation with this link, if it's for the email address and still open. Without a link, takes an
 * invitation that needs none. If two requests try to take the same invitation, one of them gets it.
 */
export async function accept(
  db: Database,
  wanted: { hash: string | null; email: string },
  { person_id, now }: { person_id: string; now: number },
): Promise<Invitation | undefined> {
  return db
    .updateTable('invitations')
    .set({ accepted_at: now, accepted_by: person_id })
    .where('email', '=', wanted.email)
    .where('hash', wanted.hash === null ? 'is' : '=', wanted.hash)
    .where('accepted_at', 'is', null)
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst()
}

/** Whether a link belongs to an open invitation, and for whom. */
export async function findOpen(db: Database, hash: string, now: number): Promise<Invitation | undefined> {
  return db
    .selectFrom('invitations')
    .selectAll()
    .where('hash', '=', hash)
    .where('accepted_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

export async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('invitations').where('id', '=', id).execute()
}

export async function removeEnded(db: Database, before: number): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('invitations').where('expires_at', '<', before).executeTakeFirst()
  return Number(numDeletedRows)
}
