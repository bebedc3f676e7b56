import { sql } from 'kysely'
import { notFound } from '../errors.ts'
import { coversAll, defaultRoles } from '../security/permissions.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isKeyOf, isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { Tables } from '../storage/tables.ts'
import type { Key } from './key.ts'

type KeyRow = Omit<Key, 'permissions'> & { permissions: string }

export type KeyFilter = {
  shown: ShownAgents
  /** Only actors with access to all projects see keys with the same access. */
  reach: 'project' | 'service'
  agent_id?: string | undefined
  /** Only the keys of this person. */
  person_id?: string | undefined
  status?: 'active' | 'expired' | 'revoked' | undefined
}

/** A key that was found by a secret. `until`: when an earlier secret expires; null for the present one. */
export type KeyOfSecret = { key: Key; until: number | null }

export async function findBySecret(db: Database, hash: string): Promise<KeyOfSecret | undefined> {
  const present = await db.selectFrom('keys').selectAll().where('hash', '=', hash).executeTakeFirst()
  if (present) return { key: fromRow(present), until: null }
  const earlier = await db
    .selectFrom('keys')
    .innerJoin('earlier_secrets as s', 's.key_id', 'keys.id')
    .selectAll('keys')
    .select('s.expires_at as until')
    .where('s.hash', '=', hash)
    .executeTakeFirst()
  if (!earlier) return undefined
  const { until, ...row } = earlier
  return { key: fromRow(row), until }
}

/** The earlier secrets of a key that are still valid. The others are removed. */
export async function listEarlierSecrets(db: Database, key_id: string, now: number): Promise<{ expires_at: number }[]> {
  await removeEarlierSecrets(db, key_id, now)
  return db.selectFrom('earlier_secrets').select('expires_at').where('key_id', '=', key_id).execute()
}

export async function insertEarlierSecret(db: Database, secret: Tables['earlier_secrets']): Promise<void> {
  await db.insertInto('earlier_secrets').values(secret).execute()
}

/** Removes the earlier secrets of a key that expire no later than `until`. */
export async function removeEarlierSecrets(db: Database, key_id: string, until: number): Promise<void> {
  const earlier = db.deleteFrom('earlier_secrets').where('key_id', '=', key_id)
  await earlier.where('expires_at', '<=', until).execute()
}

/** Ends one of a key's secrets before it expires. */
export async function removeSecret(db: Database, key_id: string, hash: string): Promise<void> {
  await db.deleteFrom('earlier_secrets').where('key_id', '=', key_id).where('hash', '=', hash).execute()
  await announce(db, 'keys', key_id)
}

export async function find(db: Database, id: string): Promise<Key | undefined> {
  const row = await db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()
  return row && fromRow(row)
}

export async function get(db: Database, id: string): Promise<Key> {
  const key = await find(db, id)
  if (!key) throw notFound('Key', id)
  return key
}

/**
 * The names of the IDs that are keys, roles or people of the project. Keys with access to all projects are named in the
 * default one.
 */
export async function listNames(
  db: Database,
  ids: readonly string[],
  { project_id, reach }: { project_id: string; reach: KeyFilter['reach'] },
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('keys')
    .select(['id', 'name', 'project_id', 'person_id', 'role_source'])
    .where((key) => {
      // A person is found by any of their roles.
      const isOfPerson = key.and([key('person_id', 'in', ids), key('role_source', 'is not', null)])
      return key.or([key('id', 'in', ids), isOfPerson])
    })
    .execute()
  const knowsFree = reach === 'service' || project_id === DEFAULT_PROJECT
  const known = rows.filter((key) => (key.project_id === null ? knowsFree : key.project_id === project_id))
  return new Map(
    known.flatMap(({ id, name, person_id, role_source }) => [
      [id, name] as const,
      ...(person_id !== null && role_source !== null ? [[person_id, name] as const] : []),
    ]),
  )
}

/** Locks the key, if it exists, until the transaction ends, so that its secret is replaced by one request at a time. */
export async function lock(db: Database, id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await db.selectFrom('keys').select('id').where('id', '=', id).forUpdate().execute()
}

export async function list(db: Database, query: PageQuery, filter: KeyFilter, now: number): Promise<Page<Key>> {
  let select = db
    .selectFrom('keys')
    .selectAll()
    .where('role_source', 'is', null)
    .where(isKeyOf(sql.ref('project_id'), filter.shown, filter.reach))
    .where(isShown(db, sql.ref('agent_id'), filter.shown))
  if (filter.person_id !== undefined) select = select.where('person_id', '=', filter.person_id)
  if (filter.agent_id !== undefined) select = select.where('agent_id', '=', filter.agent_id)
  if (filter.status === 'revoked') select = select.where('revoked_at', 'is not', null)
  if (filter.status === 'expired') select = select.where('revoked_at', 'is', null).where('expires_at', '<=', now)
  if (filter.status === 'active') {
    select = select
      .where('revoked_at', 'is', null)
      .where((key) => key.or([key('expires_at', 'is', null), key('expires_at', '>', now)]))
  }
  const { items, total } = await page(db, select, query)
  return { items: readable(db, items, fromRow), total }
}

/**
 * The other active keys of services, and roles of people, that can manage all projects. A personal key ends with its
 * role and isn't listed, nor is another role of the same person. Locks them, so that two can't revoke each other at the
 * same time.
 */
export async function listOtherAdmins(
  db: Database,
  { id, person_id }: Key,
  now: number,
): Promise<Pick<Key, 'permissions' | 'role_source'>[]> {
  const admins = await db
    .selectFrom('keys')
    .select(['id', 'permissions', 'person_id', 'role_source'])
    .where('project_id', 'is', null)
    .where('role_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where((key) => key.or([key('expires_at', 'is', null), key('expires_at', '>', now)]))
    .$if(engineOf(db) === 'postgres', (select) => select.orderBy('id').forUpdate())
    .execute()
  const others = admins.filter((key) => key.id !== id && (person_id === null || key.person_id !== person_id))
  const read = readable(db, others, ({ role_source, ...row }) => ({ role_source, permissions: permissionsOf(row) }))
  return read.filter(({ permissions }) => permissions.includes('manage'))
}

/** The oldest key of a service with all permissions. A person who can open the store may act for it. */
export async function findAdmin(db: Database, now: number): Promise<Key | undefined> {
  const rows = await db
    .selectFrom('keys')
    .selectAll()
    .where('project_id', 'is', null)
    .where('person_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where((key) => key.or([key('expires_at', 'is', null), key('expires_at', '>', now)]))
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return readable(db, rows, fromRow).find(({ permissions }) => coversAll(permissions, defaultRoles.admin))
}

export async function count(db: Database): Promise<number> {
  return countAll(db.selectFrom('keys'))
}

export async function insert(db: Database, key: Key): Promise<void> {
  await db
    .insertInto('keys')
    .values({ ...key, permissions: JSON.stringify(key.permissions) })
    .execute()
  await announce(db, 'keys', key.id)
}

/** Moves an agent's keys to another project with it. */
export async function moveOfAgent(db: Database, agent_id: string, project_id: string): Promise<void> {
  await db.updateTable('keys').set({ project_id }).where('agent_id', '=', agent_id).execute()
}

export async function update(db: Database, id: string, { permissions, ...changes }: Partial<Key>): Promise<void> {
  const granted = permissions && { permissions: JSON.stringify(permissions) }
  await db
    .updateTable('keys')
    .set({ ...changes, ...granted })
    .where('id', '=', id)
    .execute()
  await announce(db, 'keys', id)
}

/** Revokes a key, and the applications that were connected with it. */
export async function revoke(db: Database, id: string, revoked_at: number): Promise<void> {
  await update(db, id, { revoked_at })
  await revokeConnected(db, id, revoked_at)
}

/** Revokes the applications that were connected with a key. */
export async function revokeConnected(db: Database, id: string, revoked_at: number): Promise<void> {
  const connected = db.selectFrom('keys').select('id').where('role_id', '=', id).where('revoked_at', 'is', null)
  for (const application of await connected.execute()) await update(db, application.id, { revoked_at })
}

/**
 * One statement for all keys. A later use stored by another node stays. It isn't announced, because no decision depends
 * on it.
 */
export async function updateLastUsed(db: Database, used: ReadonlyMap<string, number>): Promise<void> {
  const rows = JSON.stringify([...used])
  const isPostgres = engineOf(db) === 'postgres'
  const given = isPostgres
    ? sql`select r ->> 0 as id, (r ->> 1)::bigint as at from jsonb_array_elements(${rows}::jsonb) r`
    : sql`select value ->> 0 as id, value ->> 1 as at from json_each(${rows})`
  // Two nodes that lock the same keys in different orders would wait for each other.
  const inOrder = isPostgres ? sql`order by keys.id for update of keys` : sql``
  await sql`
    with used as (${given}),
    older as (
      select keys.id, used.at from keys join used on used.id = keys.id
      where keys.last_used_at is null or keys.last_used_at < used.at ${inOrder})
    update keys set last_used_at = older.at from older where keys.id = older.id`.execute(db)
}

export function fromRow(row: KeyRow): Key {
  return { ...row, permissions: permissionsOf(row) }
}

function permissionsOf(row: Pick<KeyRow, 'id' | 'permissions'>): Key['permissions'] {
  return jsonOf('key', row)('permissions')
}
