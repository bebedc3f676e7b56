import type { Config } from '../config.ts'
import { forbidden } from '../errors.ts'
import { type Key, NEW_KEY } from '../keys/key.ts'
import { rolePermissions } from '../keys/make-key.ts'
import { requireOtherAdmin } from '../keys/personal/last-admin.ts'
import * as roleKeys from '../keys/personal/role-store.ts'
import * as keys from '../keys/store.ts'
import type { NewId } from '../lib/id.ts'
import { type Actor, endOfRight } from '../operation/actor.ts'
import type { AuditEvent, AuditTrail } from '../operation/audit-trail.ts'
import { covers, coversAll, Permission } from '../security/permissions.ts'
import { announce, type Database } from '../storage/database.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { Person, Role } from './person.ts'

/** A role as a person, a key or a group gives it. */
export type Grant = {
  /** Null: in all projects. */
  project_id: string | null
  role: string
  permissions: readonly Permission[]
  source: string
  tier: string
  /** Who gives it. */
  by: string
}

const LASTING = 'use a key that does not expire, with its current secret, or sign in to the console'

export async function listRoles(db: Database, person_ids: readonly string[]): Promise<Role[]> {
  return (await roleKeys.listRoles(db, person_ids)) as Role[]
}

/**
 * The permissions of a role that the actor gives. An actor can't give more than it has; the command line on the server
 * can give everything. A role stays until it's removed, so an actor whose own right expires can't give one.
 */
export function permissionsToGive(actor: Actor, role: string, config: Config): readonly Permission[] {
  if (actor.kind === 'token' || endOfRight(actor) !== Number.POSITIVE_INFINITY) {
    throw forbidden(`You can't grant a role with credentials that expire: ${LASTING}.`)
  }
  const permissions = rolePermissions(role, config)
  if (actor.kind !== 'local' && !coversAll(actor.permissions, permissions)) {
    throw forbidden("You can't grant permissions that you don't have.")
  }
  return permissions
}

/** Gives a person a role in place of their present one. Their keys keep no more than the new role allows. */
export async function giveRole(
  db: Database,
  { id: person_id, name }: Pick<Person, 'id' | 'name'>,
  { project_id, role, permissions, source, tier, by }: Grant,
  cause: Cause & { newId: NewId },
): Promise<LostKeys> {
  const { newId, now } = cause
  const present = await roleKeys.findRole(db, person_id, project_id)
  // Every node drops what it has cached about the person.
  await announce(db, 'keys', person_id)
  if (present) {
    await keys.update(db, present.id, { role, permissions: [...permissions], role_source: source, name, tier })
    return narrowKeys(db, present.id, permissions, cause)
  }
  const id = newId('rol', now)
  await keys.insert(db, {
    ...NEW_KEY,
    id,
    name,
    project_id,
    permissions: [...permissions],
    role,
    tier,
    // No secret has this hash.
    hash: id,
    created_at: now,
    created_by: by,
    person_id,
    role_source: source,
  })
  return { narrowed_keys: [], revoked_keys: [] }
}

/** Ends a role, and the keys that were created with it. */
export async function endRole(db: Database, { id, person_id }: Role, cause: Cause): Promise<LostKeys> {
  await announce(db, 'keys', person_id)
  await keys.update(db, id, { revoked_at: cause.now })
  return narrowKeys(db, id, [], cause)
}

/** When and why a role changes: a request, a sign-in, a message from a provider, a sweep. */
export type Occasion = { audit: AuditTrail; request_id: string; address: string | null; now: number }

/** An occasion, and the actor behind it. */
export type Cause = Occasion & { actor: AuditEvent['actor'] }

/** Records a change in the audit log that no operation requested. */
export async function recordRole(
  db: Database,
  { person_id, project_id }: Pick<Role, 'person_id' | 'project_id'>,
  action: string,
  { audit, actor, request_id, address }: Cause,
): Promise<void> {
  await audit.record(db, {
    actor,
    action,
    project_id: project_id ?? DEFAULT_PROJECT,
    agent_id: null,
    target: person_id,
    request_id,
    address,
    fields: ['role'],
    outcome: 'success',
  })
}

/** Ends the roles of groups that their provider hasn't confirmed since `before`. Returns how many. */
export async function endStaleRoles(db: Database, source: string, before: number, occasion: Occasion): Promise<number> {
  const stale = (await roleKeys.listStaleRoles(db, source, before)) as Role[]
  return endAll(db, stale, 'endStaleRole', occasion)
}

/** Ends the roles of groups whose provider the operator has removed. Returns how many. */
export async function endForsakenRoles(db: Database, names: readonly string[], occasion: Occasion): Promise<number> {
  const sources = names.map((name) => `group:${name}`)
  const forsaken = (await roleKeys.listForsakenRoles(db, sources)) as Role[]
  return endAll(db, forsaken, 'endForsakenRole', occasion)
}

async function endAll(db: Database, roles: readonly Role[], action: string, occasion: Occasion): Promise<number> {
  // The service itself acts like the command line on the server.
  const cause = { ...occasion, actor: { kind: 'local', id: 'local' } } as const
  for (const role of roles) {
    await endRole(db, role, cause)
    await recordRole(db, role, action, cause)
  }
  return roles.length
}

export async function requireOtherAdministrator(db: Database, role: Key, now: number): Promise<void> {
  await requireOtherAdmin(db, role, now, 'This is the last service administrator. Add another one first.')
}

/** A person's keys that a change of their role has restricted, and those that it has ended. */
export type LostKeys = { narrowed_keys: string[]; revoked_keys: string[] }

/** Keys keep what both they and the role allow. What they lose doesn't come back with a larger role. */
async function narrowKeys(
  db: Database,
  role_id: string,
  allowed: readonly Permission[],
  cause: Cause,
): Promise<LostKeys> {
  const { audit, actor, request_id, address, now } = cause
  const lost: LostKeys = { narrowed_keys: [], revoked_keys: [] }
  for (const { id: target, project_id, agent_id, permissions } of await roleKeys.listMadeWith(db, role_id)) {
    if (coversAll(allowed, permissions)) continue
    const both = Permission.options.filter((one) => covers(allowed, one) && covers(permissions, one))
    const kept = both.includes('write') ? both.filter((one) => one !== 'invoke') : both
    const isEnded = kept.length === 0
    await keys.update(db, target, isEnded ? { revoked_at: now } : { permissions: kept, role: null })
    lost[isEnded ? 'revoked_keys' : 'narrowed_keys'].push(target)
    const event = { actor, target, project_id: project_id ?? DEFAULT_PROJECT, agent_id, request_id, address }
    const told = isEnded ? { action: 'revokeKey', fields: [] } : { action: 'narrowKey', fields: ['permissions'] }
    await audit.record(db, { ...event, ...told, outcome: 'success' })
    // Applications that were connected with the key.
    const connected = await narrowKeys(db, target, isEnded ? [] : kept, cause)
    lost.narrowed_keys.push(...connected.narrowed_keys)
    lost.revoked_keys.push(...connected.revoked_keys)
  }
  return lost
}
