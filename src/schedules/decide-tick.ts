import type { LogEntry } from '../runtime/outcome.ts'
import type { Schedule } from './schedule.ts'
import { countTicks, MOST_COUNTED, type Times } from './times.ts'

/** A tick that is later than this is missed. */
export const IN_TIME_MS = 60_000

/** A schedule whose next tick has come. */
export type Due = Schedule & { next_at: number }

/** What is known when a tick is due. */
export type Situation = {
  now: number
  times: Times
  /** The state of the key whose permissions the schedule uses. */
  key: 'active' | 'revoked' | 'expired'
  isAgentPaused: boolean
  /** Whether its project has reached its storage limit. */
  isProjectFull: boolean
  /** Whether an earlier run of the schedule is still active. */
  isBusy: boolean
}

/** The outcome of a tick. */
export type TickDecision = {
  /** The schedule after it. */
  after: Schedule
  /** The tick for which a run starts. */
  runs_for: number | undefined
  /** What the agent's log says about ticks without a run. */
  told: LogEntry[]
}

/**
 * Decides the outcome of a tick and of those that have passed since. At most one of several starts a run, and the
 * outcome of the others is reported.
 */
export async function decideTick(due: Due, situation: Situation): Promise<TickDecision> {
  const { now, times, key, isAgentPaused, isProjectFull, isBusy } = situation
  const tell = teller(due, now)
  if (key !== 'active') {
    const after = { ...due, enabled: false, disabled_reason: `key_${key}` as const, next_at: null, parked: false }
    const message = `Schedule disabled: the key that last changed it is ${key}`
    return { after, runs_for: undefined, told: [tell('error', message, { updated_by: due.updated_by })] }
  }
  if (isAgentPaused) {
    const told = [tell('info', 'Schedule paused with its agent', { since: timeText(due.next_at) })]
    return { after: { ...due, parked: true }, runs_for: undefined, told }
  }

  // A tick is in the table only if it is due: the latest is this one or a later one.
  const latest = Math.max(times.latest(now) ?? due.next_at, due.next_at)
  const passed = await countTicks(times, due.next_at, latest)
  const isInTime = now - latest <= IN_TIME_MS
  const isWanted = !due.parked && (isInTime || due.catch_up === 'one')
  const isOverlap = due.overlap === 'skip' && isBusy
  const isSkipped = isWanted && (isOverlap || isProjectFull)
  const missed = isWanted ? passed - 1 : passed

  const after: Schedule = { ...due, next_at: times.next(now), parked: false }
  const told: LogEntry[] = []
  if (missed > 0) {
    after.missed += missed
    after.last_missed_at = isWanted ? (times.latest(latest - 1) ?? due.next_at) : latest
    after.last_missed_reason = due.parked ? 'agent_paused' : 'late'
    told.push(tell('warn', missedMessage(missed, due.parked), { missed, reason: after.last_missed_reason }))
  }
  if (isSkipped) {
    after.skipped += 1
    after.last_skipped_at = latest
    const why = isOverlap ? 'the previous run is still active' : 'the project has reached its storage limit'
    told.push(tell('warn', `Schedule skipped a run: ${why}`, { tick: timeText(latest) }))
  }
  return { after, runs_for: isWanted && !isSkipped ? latest : undefined, told }
}

function missedMessage(missed: number, wasPaused: boolean): string {
  const count = missed >= MOST_COUNTED - 1 ? `${missed} runs or more` : missed === 1 ? 'a run' : `${missed} runs`
  return `Schedule missed ${count}: ${wasPaused ? 'the agent was paused' : 'no node was available in time'}`
}

function teller({ id: schedule_id }: Schedule, timestamp: number) {
  return (level: LogEntry['level'], message: string, metadata: LogEntry['metadata']): LogEntry => {
    return { timestamp, level, message, metadata: { schedule_id, ...metadata } }
  }
}

function timeText(time: number): string {
  return new Date(time).toISOString()
}
