import { randomBytes } from 'node:crypto'
import type { z } from 'zod'
import * as agents from '../agents/store.ts'
import type { Config } from '../config.ts'
import { invalid } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { requireScope, requireService } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { sha256 } from '../security/digest.ts'
import { newKey } from '../security/key-format.ts'
import { covers, type Permission, permissionsOf } from '../security/permissions.ts'
import { requireNoEscalation } from './escalation.ts'
import { CreateKeyBody, hintOf, KeyWithSecret, presentKey } from './key.ts'
import { withKeyName } from './key-names.ts'
import { defaultTierFor } from './key-tiers.ts'
import * as keys from './store.ts'

export const createKey = operation({
  id: 'createKey',
  method: 'POST',
  path: '/v1/keys',
  summary: 'Create an API key',
  description:
    'The secret is in this reply only. A key cannot grant more than it has itself: permissions, scope, tier and expiry.',
  permission: 'manage',
  audit: { target: 'reply' },
  mfa: 'keys',
  idempotent: true,
  secret: true,
  success: 201,
  body: CreateKeyBody,
  concerns: async ({ body }) => body.agent_id,
  data: KeyWithSecret,

  async run({ body }, { db, actor, config, newId, now }: Needs<'db' | 'actor' | 'config' | 'newId' | 'now'>) {
    const agent_id = body.agent_id === null ? null : await scopeOf(body.agent_id)
    requireScope(actor, agent_id)
    const time = now()
    const { limits } = config
    const tier = body.tier ?? defaultTierFor(actor, limits)
    const permissions = body.permissions ?? rolePermissions(body.role ?? '', config)
    if (!Object.hasOwn(limits.tiers, tier) && body.tier !== undefined) {
      const known = Object.keys(limits.tiers).join(', ')
      throw invalid({ field: 'tier', error: `unknown tier "${tier}": take one of ${known}` })
    }
    if (body.expires_at !== null && body.expires_at <= time) {
      throw invalid({ field: 'expires_at', error: 'must be in the future' })
    }
    requireNoEscalation(actor, { permissions, tier, expires_at: body.expires_at }, config)

    const secret = newKey(randomBytes)
    const key = {
      id: newId('key', time),
      name: body.name,
      project_id: isForAllProjects(body, permissions, actor) ? null : actor.scope.project_id,
      agent_id,
      permissions: [...permissions],
      role: body.role ?? null,
      tier,
      hint: hintOf(secret),
      hash: sha256(secret),
      previous_hash: null,
      previous_secret_expires_at: null,
      created_at: time,
      created_by: actor.id,
      rotated_by: null,
      expires_at: body.expires_at,
      last_used_at: null,
      revoked_at: null,
    }
    await keys.insert(db, key)
    return { ...(await withKeyName(db, actor, presentKey(key, time), ['created_by'])), secret }

    async function scopeOf(ref: string): Promise<string> {
      const agent = await agents.findIn(db, actor.scope.project_id, ref)
      requireScope(actor, agent?.id ?? null)
      if (!agent) throw invalid({ field: 'agent_id', error: 'no such agent' })
      return agent.id
    }
  },
})

/** A key that may manage what its maker may is as free as its maker, unless the maker has named a project. */
function isForAllProjects(
  { all_projects, agent_id }: z.output<typeof CreateKeyBody>,
  permissions: readonly Permission[],
  actor: Actor,
): boolean {
  if (all_projects) {
    requireService(actor)
    if (agent_id !== null) throw invalid({ field: 'all_projects', error: 'an agent is in one project' })
  }
  const isAsFree = actor.reach === 'service' && !actor.names_project && covers(permissions, 'manage')
  return all_projects ?? (isAsFree && agent_id === null)
}

function rolePermissions(role: string, { roles }: Config): readonly Permission[] {
  const permissions = permissionsOf(role, roles)
  if (permissions.length === 0) throw invalid({ field: 'role', error: `unknown role "${role}"` })
  return permissions
}
