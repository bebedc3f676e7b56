// docs/schedules.md: "Each scheduled time starts at most one run."
import { agentOf, asker } from './access.ts'
import type { Act } from './act.ts'
import { invoke } from './runs.ts'
import { Refusal, type Schedule, type World } from './world.ts'

/** A run that no node begins within this time is missed. */
const ON_TIME_MS = 60_000

/** "The first run starts one interval after the schedule was created." */
export function createSchedule(world: World, act: Extract<Act, { do: 'create schedule' }>) {
  asker(world, act, 'write')
  const { schedules } = agentOf(world, act)
  const { every, message, by } = act
  schedules[act.schedule] = {
    every,
    message,
    next: world.time + every,
    enabled: true,
    missed: 0,
    passed: 0,
    ran: 0,
    by,
  }
  return { status: 201, says: { name: act.schedule } }
}

export function deleteSchedule(world: World, act: Extract<Act, { do: 'delete schedule' }>) {
  asker(world, act, 'delete')
  const { schedules } = agentOf(world, act)
  if (!schedules[act.schedule]) throw new Refusal(404, 'not_found')
  delete schedules[act.schedule]
  return { status: 200, says: { deleted: true } }
}

/** The clock goes on, or jumps: what was due more than a minute ago is missed, and every other time starts a run. */
export function passTime(world: World, ms: number): void {
  world.time += ms
  for (const [project, { agents }] of Object.entries(world.projects)) {
    for (const [agent, { schedules }] of Object.entries(agents)) {
      for (const schedule of Object.values(schedules)) due(world, { project, agent }, schedule)
    }
  }
}

function due(world: World, { project, agent: name }: { project: string; agent: string }, schedule: Schedule): void {
  const agent = world.projects[project]?.agents[name]
  while (agent && schedule.enabled && schedule.next <= world.time) {
    const isLate = world.time - schedule.next > ON_TIME_MS
    schedule.next += schedule.every
    const key = world.keys[schedule.by]
    const hasKey = key && !key.revoked
    // While the agent is paused, "no run starts", and the schedule isn't looked at again until it's resumed.
    if (agent.status === 'paused' && (hasKey || schedule.passed > 0)) schedule.passed += 1
    // "After the schedule's key was revoked or has expired", it's disabled.
    else if (!hasKey) schedule.enabled = false
    else if (isLate) schedule.missed += 1
    else {
      schedule.ran += 1
      startRun(world, { project, agent: name }, schedule)
    }
  }
}

/** An ordinary background run. All runs of a schedule have its message. */
function startRun(world: World, at: { project: string; agent: string }, schedule: Schedule): void {
  const run = { do: 'invoke', by: schedule.by, ...at, message: schedule.message, plan: 'answer' } as const
  try {
    invoke(world, { ...run, user: null, session: null, environment: 'production', how: 'background' }, 'schedule')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}
