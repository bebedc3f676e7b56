import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { conflict } from '../errors.ts'
import { keepEach } from '../invocations/attachments/keep-attachments.ts'
import { receiveAttachments } from '../invocations/attachments/receive-attachments.ts'
import { requireLasting } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { CreateScheduleBody, presentWithRuns, type Schedule, ScheduleWithRuns } from './schedule.ts'
import * as schedules from './store.ts'
import { requireNext } from './times.ts'

type CreateScheduleNeeds = Needs<'actor' | 'config' | 'db' | 'newId' | 'now' | 'shownAgents' | 'uploads'>

export const createSchedule = operation({
  id: 'createSchedule',
  method: 'POST',
  path: '/v1/agents/{agent_id}/schedules',
  summary: 'Create a schedule',
  description:
    "Sends `message` to the agent at each scheduled time, in the background. Set the times with `cron` in a `timezone`, an interval (`every`) or a single time (`at`). Runs have the permissions of the key that last changed the schedule. If that key is revoked or expires, the schedule is disabled. Tokens can't create schedules, because a schedule would outlive its token.",
  access: { permission: 'write' },
  mfa: { policy: 'invoke' },
  audit: { target: 'reply' },
  idempotent: true,
  input: {
    params: AgentParams,
    body: CreateScheduleBody,
    receive: (input, actor, parts) => receiveAttachments(input, actor, parts),
  },
  answer: { status: 201, data: ScheduleWithRuns, errors: ['conflict'] },

  async run({ params, body }, context: CreateScheduleNeeds) {
    const { actor, config, db, newId, now } = context
    requireLasting(actor, 'A schedule')
    const user_id = requireUser(actor, body.context.user_id) ?? null
    const agent = await agents.lock(db, params.agent_id)
    const { maxPerAgent } = config.schedules
    if ((await schedules.count(db, agent.id)) >= maxPerAgent) {
      throw conflict(
        `This agent already has ${maxPerAgent} schedules, the limit set by schedules.maxPerAgent. Delete one first.`,
      )
    }
    const time = now()
    const { cron = null, every = null, at = null, timezone = cron === null ? null : 'UTC', ...asked } = body
    const timing = { cron, timezone, every, at, anchor_at: time }
    const next_at = await requireNext(timing, time)
    const id = newId('sch', time)
    const origin = { agent_id: agent.id, request_id: null, schedule_id: id }
    const schedule: Schedule = {
      ...asked,
      ...timing,
      id,
      attachments: await keepEach(db, asked.attachments, { ...origin, user_id }, context),
      agent_id: agent.id,
      disabled_reason: asked.enabled ? null : 'requested',
      next_at: asked.enabled ? next_at : null,
      parked: false,
      last_tick_at: null,
      last_request_id: null,
      missed: 0,
      last_missed_at: null,
      last_missed_reason: null,
      skipped: 0,
      last_skipped_at: null,
      created_by: actor.id,
      updated_by: actor.id,
      authors: [actor.id],
      created_at: time,
      updated_at: time,
    }
    await schedules.insert(db, schedule)
    return presentWithRuns(schedule, agent)
  },
})
