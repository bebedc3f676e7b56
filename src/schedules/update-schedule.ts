import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import * as agents from '../agents/store.ts'
import { keepEach } from '../invocations/attachments/keep-attachments.ts'
import { receiveAttachments } from '../invocations/attachments/receive-attachments.ts'
import { withoutUndefined } from '../lib/without-undefined.ts'
import { requireLasting } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { requireFilesOfUser } from './require-files-of-user.ts'
import { presentWithRuns, type Schedule, ScheduleParams, ScheduleWithRuns, UpdateScheduleBody } from './schedule.ts'
import * as schedules from './store.ts'
import { requireNext, type Timing } from './times.ts'

type UpdateScheduleNeeds = Needs<'actor' | 'config' | 'db' | 'newId' | 'now' | 'shownAgents' | 'uploads'>

const MOST_AUTHORS = 100

export const updateSchedule = operation({
  id: 'updateSchedule',
  method: 'PATCH',
  path: '/v1/agents/{agent_id}/schedules/{schedule_id}',
  summary: 'Update a schedule',
  description:
    "Changes only the fields you send. `cron`, `every` and `at` replace each other; sending the current value doesn't change the next run. From then on, runs have the permissions of the key that sends this request. A disabled schedule starts no runs and doesn't make up for them later.",
  access: { permission: 'write' },
  mfa: { policy: 'invoke' },
  audit: { target: 'schedule_id' },
  idempotent: true,
  input: {
    params: ScheduleParams,
    body: UpdateScheduleBody,
    receive: (input, actor, parts) => receiveAttachments(input, actor, parts),
  },
  answer: { data: ScheduleWithRuns },

  async run({ params, body }, context: UpdateScheduleNeeds) {
    const { actor, db, now } = context
    requireLasting(actor, 'A schedule')
    const agent = await agents.get(db, params.agent_id)
    await schedules.lock(db, params.schedule_id)
    const schedule = await schedules.get(db, agent.id, params.schedule_id)
    const { cron, every, at, timezone, attachments, ...asked } = body
    const user_id = (asked.context ?? schedule.context).user_id ?? null
    const changed = timingOf({ cron, every, at, timezone }, schedule, now())
    const enabled = body.enabled ?? schedule.enabled
    const origin = { agent_id: agent.id, request_id: null, schedule_id: schedule.id }
    const updated: Schedule = {
      ...schedule,
      ...withoutUndefined(asked),
      attachments: attachments
        ? await keepEach(db, attachments, { ...origin, user_id }, context)
        : schedule.attachments,
      ...changed,
      disabled_reason: enabled ? null : (schedule.disabled_reason ?? 'requested'),
      updated_by: actor.id,
      authors: withAuthor(schedule, actor.id),
      // It always grows, so that a tick that was prepared before the change isn't taken after it.
      updated_at: Math.max(now(), schedule.updated_at + 1),
    }
    if (!attachments && user_id !== (schedule.context.user_id ?? null))
      await requireFilesOfUser(db, agent, updated, now())
    if (changed || enabled !== schedule.enabled) {
      // A schedule that has no tick any more cannot be enabled, and its times are checked even if it is not.
      const next_at = changed || enabled ? await requireNext(updated, now()) : null
      Object.assign(updated, { next_at: enabled ? next_at : null, parked: false })
    }
    await schedules.update(db, updated)
    return presentWithRuns(updated, agent)
  },
})

/** If there are many authors, the first and the latest are kept. */
function withAuthor({ created_by, authors }: Schedule, id: string): string[] {
  const others = authors.filter((author) => author !== id && author !== created_by)
  return [...new Set([created_by, ...others.slice(-MOST_AUTHORS), id])]
}

type Changes = Pick<z.output<typeof UpdateScheduleBody>, 'cron' | 'every' | 'at' | 'timezone'>

/** The timing after the change, or undefined if it stays: sending the same timing moves no tick. */
function timingOf({ cron, every, at, timezone }: Changes, was: Schedule, now: number): Timing | undefined {
  const isNamed = (cron ?? every ?? at) !== undefined
  const times = isNamed ? { cron: cron ?? null, every: every ?? null, at: at ?? null } : timesIn(was)
  // Another pattern keeps its time zone.
  const zone = times.cron === null ? null : (was.timezone ?? 'UTC')
  const timing = { ...times, timezone: timezone ?? zone }
  const isSame = isDeepStrictEqual(timing, { ...timesIn(was), timezone: was.timezone })
  return isSame ? undefined : { ...timing, anchor_at: now }
}

function timesIn({ cron, every, at }: Timing) {
  return { cron, every, at }
}
