import { randomBytes } from 'node:crypto'
import type { z } from 'zod'
import * as agents from '../agents/store.ts'
import type { Config } from '../config.ts'
import { forbidden, invalid } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { requireScope } from '../operation/scope.ts'
import { sha256 } from '../security/digest.ts'
import { newKey } from '../security/key-format.ts'
import { coversAll, type Permission, permissionsOf } from '../security/permissions.ts'
import type { Database } from '../storage/database.ts'
import { requireNoEscalation } from './escalation.ts'
import { type CreateKeyBody, hintOf, type Key, type KeyWithSecret, NEW_KEY, presentKey } from './key.ts'
import { withOwner } from './key-names.ts'
import { defaultTierFor } from './key-tiers.ts'
import * as keys from './store.ts'

type KeyRequest = Omit<z.output<typeof CreateKeyBody>, 'all_projects'>

type MakeNeeds = Needs<'db' | 'actor' | 'config' | 'newId' | 'now'>

/** What a key is limited to, and who owns it. Null: all projects, the whole project, a service. */
export type KeyOwner = Pick<Key, 'project_id' | 'person_id' | 'role_id'>

/**
 * A personal key belongs to the project in which its person creates it. Someone with access to all projects who names
 * none creates one for all.
 */
export function personalOwner(
  { id: role_id, person_id, reach, names_project, scope }: Actor & { person_id: string },
  agent_id: string | null,
): KeyOwner {
  const isOfAll = reach === 'service' && !names_project && agent_id === null
  return { project_id: isOfAll ? null : scope.project_id, person_id, role_id }
}

/** Stores a new key with at most the permissions of its maker, and returns its secret. */
export async function makeKey(
  wanted: KeyRequest,
  ownerOf: (permissions: readonly Permission[]) => KeyOwner,
  { db, actor, config, newId, now }: MakeNeeds,
): Promise<z.input<typeof KeyWithSecret>> {
  const agent_id = wanted.agent_id === null ? null : await agentOf(wanted.agent_id)
  requireScope(actor, agent_id)
  const time = now()
  const { limits } = config
  const tier = wanted.tier ?? defaultTierFor(actor, limits)
  const permissions = wanted.permissions ?? rolePermissions(wanted.role ?? '', config)
  if (!Object.hasOwn(limits.tiers, tier) && wanted.tier !== undefined) {
    const known = Object.keys(limits.tiers).join(', ')
    throw invalid({ field: 'tier', error: `must be one of ${known}` })
  }
  if (wanted.expires_at !== null && wanted.expires_at <= time) {
    throw invalid({ field: 'expires_at', error: 'must be in the future' })
  }
  requireNoEscalation(actor, { permissions, tier, expires_at: wanted.expires_at }, config)

  const owner = ownerOf(permissions)
  if (owner.role_id !== null) await requireRole(db, owner.role_id, permissions)
  const secret = newKey(randomBytes)
  const key = {
    ...NEW_KEY,
    ...owner,
    id: newId('key', time),
    name: wanted.name,
    agent_id,
    permissions: [...permissions],
    role: wanted.role ?? null,
    tier,
    hint: hintOf(secret),
    hash: sha256(secret),
    created_at: time,
    created_by: actor.id,
    expires_at: wanted.expires_at,
  }
  await keys.insert(db, key)
  return { ...(await withOwner(db, actor, presentKey(key, time))), secret }

  async function agentOf(ref: string): Promise<string> {
    const agent = await agents.findIn(db, actor.scope.project_id, ref)
    requireScope(actor, agent?.id ?? null)
    if (!agent) throw invalid({ field: 'agent_id', error: 'no agent with this ID or name exists' })
    return agent.id
  }
}

/** A role that is ended or restricted now waits for this key, or this key sees that it has ended. */
export async function requireRole(db: Database, id: string, permissions: readonly Permission[]): Promise<void> {
  await keys.lock(db, id)
  const role = await keys.find(db, id)
  if (!role || role.revoked_at !== null || !coversAll(role.permissions, permissions)) {
    throw forbidden('Your role has changed. Reload to see your current permissions.')
  }
}

export function rolePermissions(role: string, { roles }: Pick<Config, 'roles'>): readonly Permission[] {
  const permissions = permissionsOf(role, roles)
  if (permissions.length === 0) throw invalid({ field: 'role', error: `unknown role "${role}"` })
  return permissions
}
