import { z } from 'zod'
import { operation } from '../../operation.ts'
import { enqueue } from '../../storage/jobs/jobs.ts'
import * as callbacks from '../../webhooks/callback-store.ts'
import { CallbackParams } from './callback.ts'
import { getCallbackInScope } from './callbacks-in-scope.ts'

export const deleteCallback = operation({
  id: 'deleteCallback',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/callbacks/{callback_id}',
  summary: 'Delete a callback',
  description: 'Deletes a callback by its ID or name. No further events are sent to it.',
  access: { permission: 'delete', ownPermission: 'invoke', userTokens: true },
  mfa: { policy: 'webhooks' },
  audit: { target: 'reply' },
  input: { params: CallbackParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { actor, db, newId, now }) {
    const { id } = await getCallbackInScope(params, 'write', { actor, db })
    await callbacks.remove(db, id)
    // The deliveries are removed in the background, as for every deleted webhook.
    await enqueue(db, { id: newId('job', now()), kind: 'purge', run_at: now() })
    return { id, deleted: true as const }
  },
})
