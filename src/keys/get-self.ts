import { z } from 'zod'
import { operation } from '../operation.ts'
import { Permission } from '../security/permissions.ts'
import { Time } from '../shapes.ts'
import * as keys from './store.ts'

export const getSelf = operation({
  id: 'getSelf',
  method: 'GET',
  path: '/v1/keys/self',
  summary: 'Say what this key may do',
  permission: null,
  userTokens: true,
  data: z
    .object({
      id: z.string(),
      kind: z.enum(['key', 'token', 'local']),
      name: z.string().nullable(),
      agent_id: z.string().nullable(),
      permissions: z.array(Permission),
      tier: z.string(),
      expires_at: Time.nullable(),
    })
    .meta({ id: 'Self' }),

  async run(_input, { db, actor }) {
    const key = actor.kind === 'key' ? await keys.get(db, actor.id) : undefined
    const { scope, permissions, ...self } = actor
    return { ...self, agent_id: scope.agent_id, permissions: [...permissions], name: key?.name ?? null }
  },
})
