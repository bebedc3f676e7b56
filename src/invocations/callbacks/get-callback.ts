import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { CallbackParams, CallbackReply } from './callback.ts'
import { getCallbackInScope } from './callbacks-in-scope.ts'

export const getCallback = operation({
  id: 'getCallback',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/callbacks/{callback_id}',
  summary: 'Get a callback',
  description: 'Returns a callback by its ID or name.',
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: { params: CallbackParams },
  answer: { data: CallbackReply },

  run: ({ params }, context: Needs<'actor' | 'db'>) => getCallbackInScope(params, 'read', context),
})
