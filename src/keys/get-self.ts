import { z } from 'zod'
import { operation } from '../operation.ts'
import { coversAll, Permission } from '../security/permissions.ts'
import { Time } from '../shapes.ts'
import { defaultTierFor, mayGiveTier } from './key-tiers.ts'
import * as keys from './store.ts'

export const getSelf = operation({
  id: 'getSelf',
  method: 'GET',
  path: '/v1/keys/self',
  summary: 'Get your own permissions',
  description:
    "Returns the key's permissions, scope, tier and expiry. `tiers`, `default_tier` and `roles` list what it can grant to keys that it creates.",
  access: { permission: null, userTokens: true },
  answer: {
    data: z
      .object({
        id: z.string(),
        kind: z.enum(['key', 'token', 'local', 'person']),
        person_id: z.string().nullable().describe('The person who is signed in, or whom the key belongs to'),
        name: z.string().nullable(),
        project_id: z.string().describe('The project of this request'),
        reach: z.enum(['project', 'service']).describe('`service`: it has access to all projects'),
        agent_id: z.string().nullable(),
        permissions: z.array(Permission),
        tier: z.string().describe('Its rate-limit tier'),
        tiers: z
          .array(z.object({ name: z.string(), requests_per_minute: z.int(), burst: z.int() }))
          .describe('The tiers you can give to keys you create, slowest first'),
        default_tier: z.string().describe('The tier of keys you create without naming one'),
        roles: z
          .array(z.object({ name: z.string(), permissions: z.array(Permission) }))
          .describe('The roles you can give to keys you create'),
        expires_at: Time.nullable(),
      })
      .meta({ id: 'Self' }),
  },

  async run(_input, { db, actor, config: { limits, roles } }) {
    const { kind, id, scope, reach, permissions, tier, expires_at, person_id = null } = actor
    const key = kind === 'key' || kind === 'person' ? await keys.get(db, id) : undefined
    return {
      id,
      kind,
      person_id,
      reach,
      tier,
      expires_at,
      project_id: scope.project_id,
      agent_id: scope.agent_id,
      permissions: [...permissions],
      name: key?.name ?? null,
      tiers: Object.entries(limits.tiers)
        .filter(([name]) => mayGiveTier(actor, name, limits))
        .map(([name, { requestsPerMinute, burst }]) => ({ name, requests_per_minute: requestsPerMinute, burst }))
        .toSorted((a, b) => a.requests_per_minute - b.requests_per_minute),
      default_tier: defaultTierFor(actor, limits),
      roles: Object.entries(roles)
        .filter(([, held]) => coversAll(permissions, held))
        .map(([role, held]) => ({ name: role, permissions: [...held] })),
    }
  },
})
