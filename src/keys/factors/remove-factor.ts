import { z } from 'zod'
import { forbidden } from '../../errors.ts'
import { operation } from '../../operation.ts'
import { requireNoEscalation } from '../escalation.ts'
import { KeyParams } from '../key.ts'
import { concernedAgent, getHolderInScope } from '../key-in-scope.ts'
import * as factors from './factor-store.ts'

export const removeFactor = operation({
  id: 'removeFactor',
  method: 'DELETE',
  path: '/v1/keys/{key_id}/mfa',
  summary: "Remove a key's second factor",
  description: 'Requires another key with a second factor and its code in `X-Service-OTP`.',
  access: { permission: 'manage', concerns: concernedAgent },
  mfa: { policy: 'always' },
  audit: { target: 'key_id' },
  input: { params: KeyParams },
  answer: { data: z.object({ key_id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db, actor, config }) {
    const key = await getHolderInScope(db, actor, params.key_id)
    if (actor.id === key.id)
      throw forbidden(
        "A key can't remove its own second factor. Use another key, or `moorage mfa remove --local` on the server.",
      )
    requireNoEscalation(actor, key, config)
    await factors.remove(db, key.id, 'pending')
    await factors.remove(db, key.id, 'active')
    return { key_id: key.id, deleted: true as const }
  },
})
