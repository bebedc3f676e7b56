import { z } from 'zod'
import { operation } from '../operation.ts'
import { Time } from '../shapes.ts'
import { KeyParams } from './key.ts'
import { concernedAgent, getInScope } from './key-in-scope.ts'
import { requireOtherAdmin } from './personal/last-admin.ts'
import * as keys from './store.ts'

const LAST = 'This is the last key with `manage` in all projects. Create another one first.'

export const revokeKey = operation({
  id: 'revokeKey',
  method: 'DELETE',
  path: '/v1/keys/{key_id}',
  summary: 'Revoke an API key',
  description:
    "The key stops working immediately, including a secret in its grace period. Revoking it again has no effect. The last key with `manage` in all projects can't be revoked (409), unless a person was granted that role directly and not through a group.",
  access: { permission: 'manage', concerns: concernedAgent },
  mfa: { policy: 'keys' },
  audit: { target: 'key_id' },
  input: { params: KeyParams },
  answer: { data: z.object({ id: z.string(), revoked: z.literal(true), revoked_at: Time }), errors: ['conflict'] },

  async run({ params }, { db, actor, now }) {
    const key = await getInScope(db, actor, params.key_id)
    const revoked_at = key.revoked_at ?? now()
    if (key.revoked_at === null) {
      // A person who administers the service still does without their key.
      if (key.person_id === null) await requireOtherAdmin(db, key, now(), LAST)
      await keys.revoke(db, key.id, revoked_at)
    }
    return { id: key.id, revoked: true as const, revoked_at }
  },
})
