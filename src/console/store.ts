import { sql } from 'kysely'
import { announce, type Database } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isKeyOf, isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { ConsoleSession } from './console-session.ts'

/** Finds a session by the hash of its present or previous secret. */
export async function findByHash(db: Database, hash: string): Promise<ConsoleSession | undefined> {
  return db
    .selectFrom('console_sessions')
    .selectAll()
    .where((session) => session.or([session('hash', '=', hash), session('previous_hash', '=', hash)]))
    .executeTakeFirst()
}

export async function find(db: Database, id: string): Promise<ConsoleSession | undefined> {
  return db.selectFrom('console_sessions').selectAll().where('id', '=', id).executeTakeFirst()
}

export type ShownSession = ConsoleSession & { key_name: string; project_id: string | null; agent_id: string | null }

export type SessionFilter = {
  shown: ShownAgents
  /** Sessions of keys of all projects are shown to `service` only. */
  reach: 'project' | 'service'
  key_id?: string | undefined
  now: number
  idle_ms: number
}

/** The sessions that are in force. */
export async function list(db: Database, query: PageQuery, filter: SessionFilter): Promise<Page<ShownSession>> {
  const { shown, reach, key_id, now, idle_ms } = filter
  let select = db
    .selectFrom((from) =>
      from
        .selectFrom('console_sessions as s')
        .innerJoin('keys', 'keys.id', 's.key_id')
        .selectAll('s')
        .select(['keys.name as key_name', 'keys.project_id', 'keys.agent_id'])
        .whereRef('s.key_hash', '=', 'keys.hash')
        .where('keys.revoked_at', 'is', null)
        .where((key) => key.or([key('keys.expires_at', 'is', null), key('keys.expires_at', '>', now)]))
        .where('s.expires_at', '>', now)
        .where('s.last_used_at', '>', now - idle_ms)
        .as('sessions'),
    )
    .selectAll()
    .where(isKeyOf(sql.ref('project_id'), shown, reach))
    .where(isShown(db, sql.ref('agent_id'), shown))
  if (key_id !== undefined) select = select.where('key_id', '=', key_id)
  return page(db, select as never, query) as Promise<Page<ShownSession>>
}

export async function insert(db: Database, session: ConsoleSession): Promise<void> {
  await db.insertInto('console_sessions').values(session).execute()
}

/** Changes a session if its secret is still the one that was read. Returns false when another request was faster. */
export async function update(db: Database, read: ConsoleSession, changes: Partial<ConsoleSession>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('console_sessions')
    .set(changes)
    .where('id', '=', read.id)
    .where('hash', '=', read.hash)
    .executeTakeFirst()
  await announce(db, 'keys', read.id)
  return numUpdatedRows > 0n
}

export async function remove(db: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('console_sessions').where('id', '=', id).executeTakeFirst()
  await announce(db, 'keys', id)
  return numDeletedRows > 0n
}

/** Ends all sessions of a key except for the newest. */
export async function removeOlder(db: Database, key_id: string, keep: number): Promise<void> {
  const older = await db
    .selectFrom('console_sessions')
    .select('id')
    .where('key_id', '=', key_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .offset(keep)
    .limit(100)
    .execute()
  for (const { id } of older) await remove(db, id)
}

/** Removes sessions and links that ended before `before`. */
export async function removeExpired(db: Database, before: number): Promise<number> {
  let removed = 0n
  for (const table of ['console_sessions', 'console_links'] as const) {
    const { numDeletedRows } = await db.deleteFrom(table).where('expires_at', '<', before).executeTakeFirst()
    removed += numDeletedRows
  }
  return Number(removed)
}

export async function insertLink(
  db: Database,
  link: { hash: string; key_id: string; key_hash: string; expires_at: number },
): Promise<void> {
  await db.insertInto('console_links').values(link).execute()
}

export async function hasLink(db: Database, hash: string): Promise<boolean> {
  const link = await db.selectFrom('console_links').select('hash').where('hash', '=', hash).executeTakeFirst()
  return link !== undefined
}

/** Removes the link and returns whose it was. Of two requests with the same link, one gets it. */
export async function takeLink(
  db: Database,
  hash: string,
  now: number,
): Promise<Pick<ConsoleSession, 'key_id' | 'key_hash'> | undefined> {
  const link = await db.deleteFrom('console_links').where('hash', '=', hash).returningAll().executeTakeFirst()
  return link && link.expires_at > now ? link : undefined
}

/** A list that is longer cannot be chosen from. The page of projects has all of them. */
const MOST_PROJECTS = 1_000

/** The projects that a key of all projects may work in: first the default one, then by name. */
export async function projectsToChoose(db: Database): Promise<{ id: string; name: string }[]> {
  return db
    .selectFrom('projects')
    .select(['id', 'name'])
    .orderBy((project) => project.case().when('id', '=', DEFAULT_PROJECT).then(0).else(1).end())
    .orderBy('name')
    .limit(MOST_PROJECTS)
    .execute()
}
