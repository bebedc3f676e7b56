import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { presentWithRuns, ScheduleParams, ScheduleWithRuns } from './schedule.ts'
import * as schedules from './store.ts'

export const getSchedule = operation({
  id: 'getSchedule',
  method: 'GET',
  path: '/v1/agents/{agent_id}/schedules/{schedule_id}',
  summary: 'Get a schedule',
  description: 'Returns the schedule with its next five times, and with the runs it missed or skipped.',
  access: { permission: 'read' },
  input: { params: ScheduleParams },
  answer: { data: ScheduleWithRuns },

  async run({ params }, { db }) {
    const agent = await agents.get(db, params.agent_id)
    return presentWithRuns(await schedules.get(db, agent.id, params.schedule_id), agent)
  },
})
