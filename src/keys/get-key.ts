import { operation } from '../operation.ts'
import { KeyParams, KeyReply, presentKey } from './key.ts'
import { concernedAgent, getInScope } from './key-in-scope.ts'
import { withOwner } from './key-names.ts'

export const getKey = operation({
  id: 'getKey',
  method: 'GET',
  path: '/v1/keys/{key_id}',
  summary: 'Get an API key',
  description: "Returns the key's permissions and when it was last used, never its secret.",
  access: { permission: 'manage', concerns: concernedAgent },
  input: { params: KeyParams },
  answer: { data: KeyReply },

  async run({ params }, { db, actor, now }) {
    const key = presentKey(await getInScope(db, actor, params.key_id), now())
    return withOwner(db, actor, key)
  },
})
