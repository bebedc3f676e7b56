import { z } from 'zod'
import { operation } from '../operation.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import * as triggers from './store.ts'
import { TriggerParams } from './trigger.ts'

export const deleteTrigger = operation({
  id: 'deleteTrigger',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/triggers/{trigger_id}',
  summary: 'Delete a trigger',
  description:
    'Its URL returns 404 from then on, and its deliveries are deleted. Runs it has already started continue, and their receipts are kept.',
  access: { permission: 'write' },
  audit: { target: 'trigger_id' },
  input: { params: TriggerParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db, newId, now }) {
    const { id } = await triggers.get(db, params.agent_id, params.trigger_id)
    await triggers.remove(db, id)
    // There may be many deliveries, so they are removed in the background.
    await enqueue(db, { id: newId('job', now()), kind: 'purge', run_at: now() })
    return { id, deleted: true as const }
  },
})
