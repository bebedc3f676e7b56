import { z } from 'zod'

export const Per = z.enum(['hour', 'day', 'month', 'ever'])

/** A budget begins anew at `end`. Null: it never does. */
export type BudgetPeriod = { start: number; end: number | null }

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The period that a time is in. Days and months begin at midnight in the time zone, also where the clocks change. */
export function periodAt(per: z.output<typeof Per>, timezone: string, time: number): BudgetPeriod {
  if (per === 'ever') return { start: 0, end: null }
  const clock = clockOf(timezone)
  const local = clock(time)
  if (per === 'hour') {
    const start = time - (local % HOUR_MS)
    return { start, end: start + HOUR_MS }
  }
  const date = new Date(local)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (per === 'month') return { start: firstAt(year, month, 1, clock), end: firstAt(year, month + 1, 1, clock) }
  return { start: firstAt(year, month, day, clock), end: firstAt(year, month, day + 1, clock) }
}

/** Tells what clocks of a time zone show at a time, as if they stood in UTC. */
type Clock = (time: number) => number

function clockOf(timeZone: string): Clock {
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    era: 'short',
    ...numeric,
    second: 'numeric',
  })
  return (time) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, second) + (time % 1000)
  }
}

/**
 * The first moment of a day. There may be two midnights, when clocks are put back, and the first counts; or none, when
 * they are put forward at midnight, and the day begins with that.
 */
function firstAt(year: number, month: number, day: number, clock: Clock): number {
  const midnight = Date.UTC(year, month, day)
  const before = midnight - DAY_MS
  const after = midnight + DAY_MS
  const candidates = [midnight - (clock(before) - before), midnight - (clock(after) - after)]
  const found = candidates.filter((time) => clock(time) === midnight)
  return Math.min(...(found.length > 0 ? found : candidates.filter((time) => clock(time) > midnight)))
}
