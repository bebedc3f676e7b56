import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { present } from './present.ts'
import * as triggers from './store.ts'
import { TriggerParams, TriggerReply } from './trigger.ts'

export const getTrigger = operation({
  id: 'getTrigger',
  method: 'GET',
  path: '/v1/agents/{agent_id}/triggers/{trigger_id}',
  summary: 'Get a trigger',
  description: 'Requires `write`, because its URL can be enough to start runs.',
  access: { permission: 'write' },
  input: { params: TriggerParams },
  answer: { data: TriggerReply },

  async run({ params: { agent_id, trigger_id } }, context: Needs<'config' | 'db' | 'keyring'>) {
    return present(context.db, await triggers.get(context.db, agent_id, trigger_id), context)
  },
})
