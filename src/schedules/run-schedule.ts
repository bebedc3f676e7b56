import { requireRunning } from '../agents/agent-snapshot.ts'
import * as agents from '../agents/store.ts'
import { sessionBusy } from '../errors.ts'
import { scheduledRun } from '../invocations/queue/scheduled-run.ts'
import { QueuedReply } from '../invocations/receipt.ts'
import { enqueueRun } from '../invocations/runs.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { requireRoom } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import { ScheduleParams } from './schedule.ts'
import * as schedules from './store.ts'

type RunScheduleNeeds = Needs<'actor' | 'db' | 'door' | 'now' | 'pauses' | 'request_id'>

export const runSchedule = operation({
  id: 'runSchedule',
  method: 'POST',
  path: '/v1/agents/{agent_id}/schedules/{schedule_id}/run',
  summary: 'Run a schedule now',
  description:
    "Starts a background run like a scheduled one, with the permissions of the key that sends this request. This works even if the schedule is disabled or an earlier run is still active. The schedule's times don't change. While the agent is paused, the request fails with 409.",
  access: { permission: 'write' },
  mfa: { policy: 'invoke' },
  audit: { target: 'schedule_id' },
  idempotent: true,
  input: { params: ScheduleParams },
  answer: { status: 202, data: QueuedReply, errors: ['agent_paused', 'conflict', 'session_busy'] },

  async run({ params }, { actor, db, door, now, pauses, request_id }: RunScheduleNeeds) {
    const agent = await agents.get(db, params.agent_id)
    const schedule = await schedules.get(db, agent.id, params.schedule_id)
    requireRunning(agent, await pauses.find(agent.project_id, db))
    requireRoom(await projects.get(db, agent.project_id))
    const { id: schedule_id, authors } = schedule
    const by = { request_id, actor, authors, door, schedule_id, scheduled_at: null }
    const run = await scheduledRun(schedule, agent, by, { db, now })
    if (!(await enqueueRun(db, { ...run, agent }, now()))) throw sessionBusy()
    return { request_id, status: 'queued' as const }
  },
})
