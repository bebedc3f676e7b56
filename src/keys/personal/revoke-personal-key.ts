import { z } from 'zod'
import { notFound } from '../../errors.ts'
import { requirePerson } from '../../operation/actor.ts'
import { operation } from '../../operation.ts'
import { Time } from '../../shapes.ts'
import { KeyParams } from '../key.ts'
import { concernedAgent } from '../key-in-scope.ts'
import * as keys from '../store.ts'

export const revokePersonalKey = operation({
  id: 'revokePersonalKey',
  method: 'DELETE',
  path: '/v1/personal-keys/{key_id}',
  summary: 'Revoke a personal key',
  description: 'For people who are signed in. The key stops working immediately. Revoking it again has no effect.',
  access: { permission: null, forPeople: true, concerns: concernedAgent },
  audit: { target: 'key_id' },
  input: { params: KeyParams },
  answer: { data: z.object({ id: z.string(), revoked: z.literal(true), revoked_at: Time }) },

  async run({ params: { key_id: id } }, { db, actor, now }) {
    const { person_id } = requirePerson(actor)
    const key = await keys.find(db, id)
    if (!key || key.person_id !== person_id || key.role_source !== null) throw notFound('Key', id)
    const revoked_at = key.revoked_at ?? now()
    if (key.revoked_at === null) await keys.revoke(db, id, revoked_at)
    return { id, revoked: true as const, revoked_at }
  },
})
