import { z } from 'zod'
import { operation } from '../operation.ts'
import { ScheduleParams } from './schedule.ts'
import * as schedules from './store.ts'

export const deleteSchedule = operation({
  id: 'deleteSchedule',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/schedules/{schedule_id}',
  summary: 'Delete a schedule',
  description: 'The schedule starts no more runs. Runs it has already started continue, and their receipts are kept.',
  access: { permission: 'delete' },
  audit: { target: 'schedule_id' },
  input: { params: ScheduleParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db }) {
    const { id } = await schedules.get(db, params.agent_id, params.schedule_id)
    await schedules.remove(db, id)
    return { id, deleted: true as const }
  },
})
