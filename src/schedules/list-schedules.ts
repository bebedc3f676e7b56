import { z } from 'zod'
import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { presentSchedule, ScheduleReply } from './schedule.ts'
import * as schedules from './store.ts'

export const listSchedules = operation({
  id: 'listSchedules',
  method: 'GET',
  path: '/v1/agents/{agent_id}/schedules',
  summary: 'List schedules',
  description: "Lists the agent's schedules with their next run and the number of runs that were missed or skipped.",
  access: { permission: 'read' },
  input: {
    params: AgentParams,
    query: listQuery(['created_at', 'updated_at', 'next_at', 'name', 'id'], {
      enabled: z.enum(['true', 'false']).optional().describe('`false`: only disabled schedules'),
    }),
  },
  answer: { list: ScheduleReply },

  async run({ params, query: { enabled, ...page } }, { db }) {
    const agent = await agents.get(db, params.agent_id)
    const which = { agent_id: agent.id, enabled: enabled === undefined ? undefined : enabled === 'true' }
    const { items, total } = await schedules.list(db, page, which)
    return { items: items.map((schedule) => presentSchedule(schedule, agent)), total }
  },
})
