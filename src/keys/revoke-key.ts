import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { Time } from '../shapes.ts'
import { KeyParams } from './key.ts'
import { concernedAgent, getInScope } from './key-in-scope.ts'
import { requireOtherAdmin } from './personal/last-admin.ts'
import * as keys from './store.ts'

const LAST = 'This is the last key that may manage all projects: create another first'

export const revokeKey = operation({
  id: 'revokeKey',
  method: 'DELETE',
  path: '/v1/keys/{key_id}',
  summary: 'Revoke an API key',
  description:
    'Takes effect at once, also for a secret in its grace period. Revoking again changes nothing. The last key that may manage all projects cannot be revoked unless a person has that role by hand, not by a group: 409.',
  permission: 'manage',
  audit: { target: 'key_id' },
  mfa: 'keys',
  errors: ['conflict'],
  params: KeyParams,
  concerns: concernedAgent,
  data: z.object({ id: z.string(), revoked: z.literal(true), revoked_at: Time }),

  async run({ params }, { db, actor, now }: Needs<'db' | 'actor' | 'now'>) {
    const key = await getInScope(db, actor, params.key_id)
    const revoked_at = key.revoked_at ?? now()
    if (key.revoked_at === null) {
      // A person who administers the service still does without a key of theirs.
      if (key.person_id === null) await requireOtherAdmin(db, key, now(), LAST)
      await keys.update(db, key.id, { revoked_at })
    }
    return { id: key.id, revoked: true as const, revoked_at }
  },
})
