import { readable } from '../../storage/damaged-rows.ts'
import { announce, type Database } from '../../storage/database.ts'
import type { Key } from '../key.ts'
import { fromRow } from '../store.ts'

/** The role of a person in a project, or for all. */
export async function findRole(db: Database, person_id: string, project_id: string | null): Promise<Key | undefined> {
  const row = await db
    .selectFrom('keys')
    .selectAll()
    .where('person_id', '=', person_id)
    .where('role_source', 'is not', null)
    .where('project_id', project_id === null ? 'is' : '=', project_id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** The roles that people have now. */
export async function listRoles(db: Database, person_ids: readonly string[]): Promise<Key[]> {
  if (person_ids.length === 0) return []
  const rows = await db
    .selectFrom('keys')
    .selectAll()
    .where('person_id', 'in', person_ids)
    .where('role_source', 'is not', null)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute()
  return readable(db, rows, fromRow)
}

/** Roles from groups of providers that aren't among these sources. */
export async function listForsakenRoles(db: Database, sources: readonly string[]): Promise<Key[]> {
  const rows = await db
    .selectFrom('keys')
    .selectAll()
    .where('role_source', 'like', 'group:%')
    .where('revoked_at', 'is', null)
    .$if(sources.length > 0, (roles) => roles.where('role_source', 'not in', sources))
    .limit(100)
    .execute()
  return readable(db, rows, fromRow)
}

/** Roles from a provider's groups that it hasn't confirmed since `before`. */
export async function listStaleRoles(db: Database, source: string, before: number): Promise<Key[]> {
  const rows = await db
    .selectFrom('keys')
    .selectAll()
    .where('role_source', '=', source)
    .where('revoked_at', 'is', null)
    .where('vouched_at', '<', before)
    .limit(100)
    .execute()
  return readable(db, rows, fromRow)
}

/** Stores that a provider has just confirmed which roles its groups give. */
export async function vouchForRoles(
  db: Database,
  person_id: string,
  source: string,
  vouched_at: number,
): Promise<void> {
  await db
    .updateTable('keys')
    .set({ vouched_at })
    .where('person_id', '=', person_id)
    .where('role_source', '=', source)
    .where('revoked_at', 'is', null)
    .execute()
  await announce(db, 'keys', person_id)
}

/** All roles of a person, including ended ones. */
export async function renameRoles(db: Database, person_id: string, name: string): Promise<void> {
  const roles = db.updateTable('keys').set({ name }).where('person_id', '=', person_id)
  await roles.where('role_source', 'is not', null).execute()
}

/**
 * The keys of people that are limited to an agent and were created with a role in its project. They are valid nowhere
 * else.
 */
export async function listTiedTo(db: Database, agent_id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('keys')
    .innerJoin('keys as role', 'role.id', 'keys.role_id')
    .select('keys.id')
    .where('keys.agent_id', '=', agent_id)
    .where('keys.revoked_at', 'is', null)
    .where('role.project_id', 'is not', null)
    .orderBy('keys.id')
    .execute()
  return rows.map(({ id }) => id)
}

/** All roles and keys that a person has or had. */
export async function listIdsOf(db: Database, person_id: string): Promise<string[]> {
  const held = await db.selectFrom('keys').select('id').where('person_id', '=', person_id).execute()
  return held.map(({ id }) => id)
}

/** The active keys of services that were created with these keys and roles. */
export async function listServiceKeysBy(db: Database, maker_ids: readonly string[]): Promise<string[]> {
  if (maker_ids.length === 0) return []
  const made = db.selectFrom('keys').select('id').where('created_by', 'in', maker_ids).where('person_id', 'is', null)
  return (await made.where('revoked_at', 'is', null).orderBy('id').execute()).map(({ id }) => id)
}

/** The active keys that a person has created with a role. */
export async function listMadeWith(db: Database, role_id: string): Promise<Key[]> {
  const rows = await db
    .selectFrom('keys')
    .selectAll()
    .where('role_id', '=', role_id)
    .where('revoked_at', 'is', null)
    .execute()
  return readable(db, rows, fromRow)
}
