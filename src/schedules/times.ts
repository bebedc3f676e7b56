import { setImmediate } from 'node:timers/promises'
import type { Cron } from 'croner'
import { invalid } from '../errors.ts'
import { parseDuration } from '../lib/duration.ts'

/** When a schedule's ticks are. One of `cron`, `every` and `at` is not null. */
export type Timing = {
  cron: string | null
  timezone: string | null
  every: string | null
  at: number | null
  /** The time from which the intervals of `every` are counted. */
  anchor_at: number
}

/** The ticks of a schedule. */
export type Times = {
  /** The first tick after a time. */
  next(after: number): number | null
  /** The last tick up to a time, which may be at that time. */
  latest(until: number): number | null
}

const MINUTE_MS = 60_000
const LONGEST_MS = 366 * 24 * 60 * MINUTE_MS
/**
 * What else the library accepts in the fields of the day and of the weekday: `+` requires both, and such days may never
 * come; `W` is the nearest weekday, and `L` the last one of a month.
 */
const UNKNOWN = { day: /\+|W|L[^,]|[^,]L/i, weekday: /\+|L/i }
/** A name such as `@daily`, or five fields. `?` would mean the time at which the text is read. */
const PATTERN = /^(?:@[a-z]+|[^\s?@]+(?:\s+[^\s?]+){4})$/i

export async function timesOf({ cron, timezone, every, at, anchor_at }: Timing): Promise<Times> {
  if (cron !== null) return timesOfCron(await readCron(cron, timezone ?? 'UTC'))
  if (every !== null) return timesOfInterval(parseDuration(every), anchor_at)
  const only = at as number
  return { next: (after) => (only > after ? only : null), latest: (until) => (only <= until ? only : null) }
}

function timesOfCron(pattern: Cron): Times {
  const timeOf = (date: Date | null | undefined) => date?.getTime() ?? null
  return {
    next: (after) => timeOf(pattern.nextRun(new Date(after))),
    // It is asked for the run before a time, and only knows whole seconds.
    latest: (until) => timeOf(pattern.previousRuns(1, new Date(Math.floor(until / 1000) * 1000 + 1000))[0]),
  }
}

/** The first tick is one interval after the anchor. */
function timesOfInterval(length: number, anchor: number): Times {
  const passed = (time: number) => Math.floor((time - anchor) / length)
  return {
    next: (after) => anchor + Math.max(1, passed(after) + 1) * length,
    latest: (until) => (passed(until) < 1 ? null : anchor + passed(until) * length),
  }
}

/** The library is loaded here, so that only services with schedules wait for it. */
async function readCron(cron: string, timezone: string): Promise<Cron> {
  const { Cron } = await import('croner')
  return new Cron(cron, { timezone, mode: '5-part' })
}

/**
 * Every day that cron can name occurs within this time. The rarest is a fifth Thursday of February: after the one in
 * 2080, the next is in 2120.
 */
const RAREST_YEARS = 41

/**
 * The first tick of a pattern that may never come. The library searches centuries at once for it, so it gets one year
 * after the other, and other work has its turn in between. The year may be different in the time zone.
 */
async function findNext(cron: string, timezone: string, after: number): Promise<number | null> {
  const { Cron } = await import('croner')
  const fields = (await readCron(cron, timezone)).getPattern()
  const year = new Date(after).getUTCFullYear()
  for (let at = year - 1; at <= year + RAREST_YEARS; at++) {
    const found = new Cron(`0 ${fields} ${at}`, { timezone, mode: '7-part' }).nextRun(new Date(after))
    if (found) return found.getTime()
    await setImmediate()
  }
  return null
}

/** The next ticks, in order. */
export async function listNext(timing: Timing, after: number, count: number): Promise<number[]> {
  const times = await timesOf(timing)
  const found: number[] = []
  for (let time = times.next(after); time !== null && found.length < count; time = times.next(time)) {
    found.push(time)
    await setImmediate()
  }
  return found
}

/** Further ticks are not counted one by one, because the times of a pattern take long to compute. */
export const MOST_COUNTED = 1_000

/**
 * After this many, the event loop gets a turn: if a service was down for a night, many schedules count at the same
 * time.
 */
const COUNTED_AT_ONCE = 5

/** How many ticks there are from one to another. */
export async function countTicks(times: Times, from: number, to: number): Promise<number> {
  let count = 1
  for (let time = times.next(from); time !== null && time <= to && count < MOST_COUNTED; time = times.next(time)) {
    count++
    if (count % COUNTED_AT_ONCE === 0) await setImmediate()
  }
  return count
}

/** The first tick after now. A timing that is invalid or has no ticks is refused, with the name of the field. */
export async function requireNext(timing: Timing, now: number): Promise<number> {
  const { cron, timezone, every, at } = timing
  if (timezone !== null) requireTimezone(timezone, cron)
  if (cron !== null) await requireCron(cron)
  if (every !== null) requireInterval(every)
  const next = cron === null ? (await timesOf(timing)).next(now) : await findNext(cron, timezone ?? 'UTC', now)
  if (next !== null) return next
  throw at !== null
    ? invalid({ field: 'at', error: 'must be in the future' })
    : invalid({ field: 'cron', error: 'never matches a date' })
}

function requireTimezone(timezone: string, cron: string | null): void {
  if (cron === null) throw invalid({ field: 'timezone', error: 'can only be used with `cron`' })
  try {
    new Date(0).toLocaleString('en', { timeZone: timezone })
  } catch {
    throw invalid({ field: 'timezone', error: 'must be an IANA time zone name such as Europe/Berlin' })
  }
}

async function requireCron(cron: string): Promise<void> {
  if (cron.trim().split(/\s+/).length > 5) {
    throw invalid({
      field: 'cron',
      error: 'must have five fields; seconds and years are not supported',
    })
  }
  if (!PATTERN.test(cron)) {
    throw invalid({
      field: 'cron',
      error: 'must have five fields (minute hour day month weekday), or be @hourly, @daily …',
    })
  }
  const [, , day = '', , weekday = ''] = cron.trim().split(/\s+/)
  if (UNKNOWN.day.test(day) || UNKNOWN.weekday.test(weekday)) {
    throw invalid({
      field: 'cron',
      error: "can't contain `+` or `W`; `L` is only allowed as the day of the month, as in `0 9 L * *`",
    })
  }
  try {
    await readCron(cron, 'UTC')
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'cannot be read'
    throw invalid({ field: 'cron', error: `is not a valid cron expression: ${reason}` })
  }
}

function requireInterval(every: string): void {
  const length = parseDuration(every)
  if (length < MINUTE_MS) throw invalid({ field: 'every', error: 'must be at least 1m' })
  if (length > LONGEST_MS) throw invalid({ field: 'every', error: 'must be at most 366d' })
}
