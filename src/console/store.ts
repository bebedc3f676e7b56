import { type SqlBool, sql } from 'kysely'
import type { EndedThere } from '../security/oidc/logout-token.ts'
import { announce, type Database } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isKeyOf, isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { ConsoleSession } from './console-session.ts'

/** How many sign-ins are confirmed at the same time. */
export const MOST_TO_CONFIRM = 100

/** Finds a session by the hash of its current or previous secret. */
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
  /** Only actors with access to all projects see the sessions of keys that also have it. */
  reach: 'project' | 'service'
  key_id?: string | undefined
  person_id?: string | undefined
  /** Only the sessions of these keys and people. */
  own?: readonly string[] | undefined
  now: number
  idle_ms: number
}

/** The active sessions. */
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

/** A session belongs to a key that still has the same secret, or to a person who has a role in the project. */
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

/** Changes a session if its secret is still the one that was read. Returns false if another request was faster. */
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

/**
 * Ends a session. While keys of its person need it, the row stays without a secret. Returns false if the session had
 * already ended.
 */
export async function end(db: Database, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('console_sessions')
    // No secret has this hash.
    .set({ hash: id, previous_hash: null, expires_at: now })
    .where('id', '=', id)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  await db
    .deleteFrom('console_sessions as s')
    .where('s.id', '=', id)
    .where(({ not }) => not(isNeededByKeys(now)))
    .execute()
  await announce(db, 'keys', id)
  return numUpdatedRows > 0n
}

/**
 * Whether keys are valid because a provider vouches for their person, and this is the last sign-in through which it can
 * be asked. Keys with a role that was granted by hand need no provider.
 */
function isNeededByKeys(now: number) {
  return sql<SqlBool>`(s.can_confirm = 1
    and exists (
      select 1 from keys join keys role on role.id = keys.role_id
      where role.person_id = s.person_id and role.role_source = 'group:' || s.issuer
        and keys.revoked_at is null and (keys.expires_at is null or keys.expires_at > ${now}))
    and s.id = (
      select max(last.id) from console_sessions last
      where last.person_id = s.person_id and last.issuer = s.issuer and last.can_confirm = 1))`
}

export async function remove(db: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('console_sessions').where('id', '=', id).executeTakeFirst()
  await announce(db, 'keys', id)
  return numDeletedRows > 0n
}

/** Whether a stored sign-in allows asking the provider about the person. */
export async function hasConfirmable(
  db: Database,
  { person_id, issuer }: Pick<ConsoleSession, 'person_id' | 'issuer'>,
): Promise<boolean> {
  const kept = db.selectFrom('console_sessions').select('id').where('can_confirm', '=', 1)
  const found = await kept.where('person_id', '=', person_id).where('issuer', '=', issuer).executeTakeFirst()
  return found !== undefined
}

/**
 * Takes the right to ask the identity provider about a session. Returns false if another node is asking or has just
 * asked.
 */
export async function lease(db: Database, read: ConsoleSession, now: number, until: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('console_sessions')
    .set({ confirming_until: until })
    .where('id', '=', read.id)
    .where('confirming_until', '<=', now)
    .where('confirming_until', '=', read.confirming_until)
    .where('confirm_before', '=', read.confirm_before)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Stores what an identity provider has said about a session. */
export async function updateIssuer(
  db: Database,
  id: string,
  changes: Partial<Pick<ConsoleSession, 'issuer_tokens' | 'confirm_before' | 'confirming_until'>>,
): Promise<void> {
  await db.updateTable('console_sessions').set(changes).where('id', '=', id).execute()
  await announce(db, 'keys', id)
}

/**
 * The sessions that an identity provider has to confirm before `before`: sessions in use, and sign-ins that keys need.
 */
export async function listToConfirm(
  db: Database,
  { before, used_since, now }: { before: number; used_since: number; now: number },
): Promise<ConsoleSession[]> {
  return db
    .selectFrom('console_sessions as s')
    .selectAll()
    .where('s.can_confirm', '=', 1)
    .where('s.confirm_before', '<', before)
    .where('s.confirming_until', '<=', now)
    .where(({ and, or, eb }) => {
      const isInForce = and([eb('s.confirm_before', '>', now), eb('s.expires_at', '>', now)])
      return or([and([isInForce, eb('s.last_used_at', '>', used_since)]), isNeededByKeys(now)])
    })
    .orderBy('s.confirm_before')
    .limit(MOST_TO_CONFIRM)
    .execute()
}

/** The active sessions that a provider opened for a person: a certain one, or all. */
export async function listOfIssuer(
  db: Database,
  issuer: string,
  { subject, session, began_before }: EndedThere,
  now: number,
): Promise<ConsoleSession[]> {
  const inForce = db.selectFrom('console_sessions').selectAll().where('expires_at', '>', now)
  let select = inForce.where('issuer', '=', issuer).where('created_at', '<', began_before)
  if (subject !== undefined) select = select.where('issuer_subject', '=', subject)
  if (session !== undefined) select = select.where('issuer_session', '=', session)
  return select.execute()
}

/** Ends all sessions of a key or a person except the newest ones. */
export async function endOlder(
  db: Database,
  { key_id, person_id, created_at: now }: Pick<ConsoleSession, 'key_id' | 'person_id' | 'created_at'>,
  keep: number,
): Promise<void> {
  const older = await db
    .selectFrom('console_sessions')
    .select('id')
    .where(key_id === null ? 'person_id' : 'key_id', '=', key_id ?? person_id)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .offset(keep)
    .limit(100)
    .execute()
  for (const { id } of older) await end(db, id, now)
}

/** Removes sessions and links that ended before `before`. */
export async function removeExpired(db: Database, before: number): Promise<number> {
  const ended = db.deleteFrom('console_sessions as s').where('s.expires_at', '<', before)
  const sessions = await ended.where(({ not }) => not(isNeededByKeys(before))).executeTakeFirst()
  const links = await db.deleteFrom('console_links').where('expires_at', '<', before).executeTakeFirst()
  return Number(sessions.numDeletedRows + links.numDeletedRows)
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

/** Removes the link and returns its owner. If two requests use the same link, only one gets it. */
export async function takeLink(
  db: Database,
  hash: string,
  now: number,
): Promise<{ key_id: string; key_hash: string } | undefined> {
  const link = await db.deleteFrom('console_links').where('hash', '=', hash).returningAll().executeTakeFirst()
  return link && link.expires_at > now ? link : undefined
}
