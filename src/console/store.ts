import { type SqlBool, sql } from 'kysely'
import { announce, type Database } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isKeyOf, isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { ConsoleSession } from './console-session.ts'

const MOST_TO_CONFIRM = 100

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

export type ShownSession = ConsoleSession & {
  key_name: string | null
  person_name: string | null
  project_id: string | null
  agent_id: string | null
}

export type SessionFilter = {
  shown: ShownAgents
  /** Sessions of keys of all projects are shown to `service` only. */
  reach: 'project' | 'service'
  key_id?: string | undefined
  person_id?: string | undefined
  /** Only the sessions of these keys and people. */
  own?: readonly string[] | undefined
  now: number
  idle_ms: number
}

/** The sessions that are in force. */
export async function list(db: Database, query: PageQuery, filter: SessionFilter): Promise<Page<ShownSession>> {
  const { shown, reach, key_id, person_id, own, now, idle_ms } = filter
  let select = db
    .selectFrom((from) =>
      from
        .selectFrom('console_sessions as s')
        .innerJoin('keys', (join) => join.on(isHolder(shown.project_id)))
        .selectAll('s')
        .select([
          sql<string | null>`case when s.person_id is null then keys.name end`.as('key_name'),
          sql<string | null>`case when s.person_id is not null then keys.name end`.as('person_name'),
          'keys.project_id',
          'keys.agent_id',
        ])
        .where('keys.revoked_at', 'is', null)
        .where((key) => key.or([key('keys.expires_at', 'is', null), key('keys.expires_at', '>', now)]))
        .where((session) =>
          session.or([session('s.confirm_before', 'is', null), session('s.confirm_before', '>', now)]),
        )
        .where('s.expires_at', '>', now)
        .where('s.last_used_at', '>', now - idle_ms)
        .as('sessions'),
    )
    .selectAll()
    .where(isKeyOf(sql.ref('project_id'), shown, reach))
    .where(isShown(db, sql.ref('agent_id'), shown))
  if (key_id !== undefined) select = select.where('key_id', '=', key_id)
  if (person_id !== undefined) select = select.where('person_id', '=', person_id)
  if (own !== undefined)
    select = select.where(({ or, eb }) => or([eb('key_id', 'in', own), eb('person_id', 'in', own)]))
  return page(db, select as never, query) as Promise<Page<ShownSession>>
}

/** A session is of a key that has the same secret still, or of a person: their role in the project shows it there. */
function isHolder(project_id: string) {
  return sql<SqlBool>`(s.key_id = keys.id and s.key_hash = keys.hash)
    or keys.id = (
      select min(role.id) from keys role
      where role.person_id = s.person_id and role.role_source is not null and role.revoked_at is null
        and (role.project_id = ${project_id} or role.project_id is null))`
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

/** Takes the right to ask the identity provider about a session. False if another node asks, or has just asked. */
export async function lease(db: Database, read: ConsoleSession, now: number, until: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('console_sessions')
    .set({ confirming_until: until })
    .where('id', '=', read.id)
    .where('confirming_until', '<=', now)
    .where('confirm_before', '=', read.confirm_before)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Writes what an identity provider has said about a session. */
export async function updateIssuer(
  db: Database,
  id: string,
  changes: Partial<Pick<ConsoleSession, 'issuer_tokens' | 'confirm_before' | 'confirming_until'>>,
): Promise<void> {
  await db.updateTable('console_sessions').set(changes).where('id', '=', id).execute()
  await announce(db, 'keys', id)
}

/** Sessions in use that an identity provider has to confirm before `before`. */
export async function listToConfirm(
  db: Database,
  { before, used_since, now }: { before: number; used_since: number; now: number },
): Promise<ConsoleSession[]> {
  return db
    .selectFrom('console_sessions')
    .selectAll()
    .where('confirm_before', '<', before)
    .where('confirm_before', '>', now)
    .where('confirming_until', '<=', now)
    .where('last_used_at', '>', used_since)
    .where('expires_at', '>', now)
    .orderBy('confirm_before')
    .limit(MOST_TO_CONFIRM)
    .execute()
}

/** The sessions that a person has by an identity provider: one of theirs there, or all. */
export async function listOfIssuer(
  db: Database,
  issuer: string,
  { subject, session }: { subject?: string | undefined; session?: string | undefined },
): Promise<ConsoleSession[]> {
  let select = db.selectFrom('console_sessions').selectAll().where('issuer', '=', issuer)
  if (subject !== undefined) select = select.where('issuer_subject', '=', subject)
  if (session !== undefined) select = select.where('issuer_session', '=', session)
  return select.execute()
}

/** Ends all sessions of a key or a person except for the newest. */
export async function removeOlder(
  db: Database,
  { key_id, person_id }: Pick<ConsoleSession, 'key_id' | 'person_id'>,
  keep: number,
): Promise<void> {
  const older = await db
    .selectFrom('console_sessions')
    .select('id')
    .where(key_id === null ? 'person_id' : 'key_id', '=', key_id ?? person_id)
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
): Promise<{ key_id: string; key_hash: string } | undefined> {
  const link = await db.deleteFrom('console_links').where('hash', '=', hash).returningAll().executeTakeFirst()
  return link && link.expires_at > now ? link : undefined
}
