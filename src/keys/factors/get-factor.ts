import { operation } from '../../operation.ts'
import { KeyParams } from '../key.ts'
import { concernedAgent, getHolderInScope } from '../key-in-scope.ts'
import { FactorReply, presentFactor } from './factor.ts'
import * as factors from './factor-store.ts'

export const getFactor = operation({
  id: 'getFactor',
  method: 'GET',
  path: '/v1/keys/{key_id}/mfa',
  summary: "Get a key's second factor status",
  description: 'Returns whether the key has a second factor, and since when. Its secret is never returned.',
  access: { permission: 'manage', concerns: concernedAgent },
  input: { params: KeyParams },
  answer: { data: FactorReply },

  async run({ params }, { db, actor, now }) {
    const key = await getHolderInScope(db, actor, params.key_id)
    return presentFactor(key.id, await factors.listOf(db, key.id), now())
  },
})
