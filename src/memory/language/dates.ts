import { cardinal, ordinal, type TimeWord, timeWord, type Unit } from './time-words.ts'

/** A period of time in UTC, in epoch milliseconds. It includes `from` and excludes `to`. */
export type Window = { from: number; to: number }

/**
 * The words, and the time relative to which they are read. If `future` is set, a date that could be in the past or the
 * future may be the future one.
 */
type DateContext = { stems: readonly string[]; now: number; future: boolean }

const DAY = 86_400_000

/**
 * The time that a query asks about: `yesterday`, `on Tuesday`, `last week`, `in May`, `on 9 May 2025`, `three days
 * ago`. If several times are possible, it is the latest one that has begun. `stems` are all words of the query.
 */
export function timeAsked(stems: readonly string[], now: number): Window | undefined {
  const reading = { stems, now, future: false }
  return firstOf(reading, [dateAt, agoAt, relativeAt, dayAt, monthAt, yearAt, weekdayAt])
}

/**
 * The time that a turn mentions, relative to when it was said. `terms` contain no stop words, so only times that are
 * clear without them are recognized: a date, `yesterday` or `next week`, but not `in May`, because `may` is also a
 * verb.
 */
export function timeMentioned(terms: readonly string[], said: number): Window | undefined {
  return firstOf({ stems: terms, now: said, future: true }, [dateAt, agoAt, relativeAt, dayAt, clearMonthAt])
}

/** Whether a text mentions any time. */
export function hasTimeWord(terms: readonly string[]): boolean {
  return terms.some((term, at) => {
    const word = timeWord(terms, at)
    return word ? SPEAKS_OF_TIME.has(word.is) : YEAR_OR_MONTH.test(term)
  })
}

const SPEAKS_OF_TIME: ReadonlySet<TimeWord['is']> = new Set(['day', 'span', 'month', 'weekday', 'unit', 'ago'])
const YEAR = /^(?:19|20)\d\d$/
/** Matches a year such as `2026`, or what follows the number in `5月に`. */
const YEAR_OR_MONTH = /^(?:(?:19|20)\d\d$|[月월])/

type Rule = (reading: DateContext, at: number) => Window | undefined

/** Tries the rules one after the other, each from the first word to the last. */
function firstOf(reading: DateContext, rules: Rule[]): Window | undefined {
  if (!hasTimeWord(reading.stems)) return undefined
  for (const rule of rules) {
    for (let at = 0; at < reading.stems.length; at++) {
      const window = rule(reading, at)
      if (window) return window
    }
  }
  return undefined
}

/** `2026-05-09`, `9 May`, `9th of May 2026`, `May 9`, `9 de mayo`. */
function dateAt({ stems, now, future }: DateContext, at: number): Window | undefined {
  const [year, month, day] = stems.slice(at, at + 3)
  if (YEAR.test(year ?? '')) {
    const [m, d] = [Number(month), Number(day)]
    if (m >= 1 && m <= 12 && d >= 1 && d <= 31) return days(Date.UTC(Number(year), m - 1, d), 1)
  }
  const name = timeWord(stems, at)
  if (name?.is !== 'month') return undefined
  const before = timeWord(stems, at - 1)?.is === 'within' ? at - 2 : at - 1
  const after = stems[at + 1] === 'the' ? at + 2 : at + 1
  const number = dayNumber(stems, before) ?? dayNumber(stems, after)
  if (number === undefined) return undefined
  const given = [stems[at + 1], stems[at + 2]].find((stem) => YEAR.test(stem ?? ''))
  if (given) return days(Date.UTC(Number(given), name.number, number), 1)
  return days(
    nearest((y) => Date.UTC(y, name.number, number), now, future),
    1,
  )
}

/** The day of a month. `twenty-third` is two words. */
function dayNumber(stems: readonly string[], at: number): number | undefined {
  const number = ordinal(stems[at])
  if (number === undefined || number > 31) return undefined
  const tens = { twenti: 20, thirti: 30 }[stems[at - 1] ?? ''] ?? 0
  return number < 10 ? number + tens : number
}

/** `three days ago`, `vor drei Tagen`, `hace tres días`, `il y a trois jours`. */
function agoAt({ stems, now }: DateContext, at: number): Window | undefined {
  const unit = timeWord(stems, at)
  const count = cardinal(stems[at - 1])
  if (unit?.is !== 'unit' || count === undefined) return undefined
  const isEarlier = timeWord(stems, at - 2)?.is === 'earlier' || (stems[at - 3] === 'y' && stems[at - 2] === 'a')
  if (timeWord(stems, at + 1)?.is !== 'ago' && !isEarlier) return undefined
  // People who count in weeks rarely mean the exact day.
  if (unit.unit === 'week') return days(startOfDay(now) - (7 * count + 3) * DAY, 7)
  return span(unit.unit, -count, now)
}

/** `last week`, `this month`, `next Friday`, `last May`. In other languages, the words may be in the opposite order. */
function relativeAt({ stems, now }: DateContext, at: number): Window | undefined {
  const word = timeWord(stems, at)
  if (!word) return undefined
  if (word.is === 'span') return span(word.unit, word.offset, now)
  const offset =
    offsetOf(timeWord(stems, at - 1)) ?? (word.is === 'unit' ? offsetOf(timeWord(stems, at + 1)) : undefined)
  if (offset === undefined) return undefined
  if (word.is === 'unit') return span(word.unit, offset, now)
  if (word.is === 'weekday') return days(latestWeekday(word.number, now, offset), 1)
  if (word.is === 'month') return latestMonth(word.number, now, offset)
  return undefined
}

function offsetOf(word: TimeWord | undefined): number | undefined {
  const offsets: Partial<Record<TimeWord['is'], number>> = { last: -1, this: 0, next: 1 }
  return word && offsets[word.is]
}

/** `yesterday`. */
function dayAt({ stems, now }: DateContext, at: number): Window | undefined {
  const word = timeWord(stems, at)
  return word?.is === 'day' ? span('day', word.offset, now) : undefined
}

/** `in May`, `May 2025`, `5月`. */
function monthAt({ stems, now }: DateContext, at: number): Window | undefined {
  const word = timeWord(stems, at)
  if (word?.is === 'month') {
    const year = stems[at + 1] ?? ''
    if (YEAR.test(year)) return months(Number(year), word.number, 1)
    if (timeWord(stems, at - 1)?.is === 'within' || /^\p{L}月$/u.test(stems[at] as string))
      return latestMonth(word.number, now, 0)
  }
  const number = Number(stems[at])
  const isNumbered = /^[月월]/.test(stems[at + 1] ?? '') || stems[at - 1] === 'thang'
  return isNumbered && number >= 1 && number <= 12 ? latestMonth(number - 1, now, 0) : undefined
}

/** Months whose names are also other words or names: may, to march, maïs, Jan. */
const UNCLEAR_MONTHS = new Set(['may', 'march', 'mar', 'mai', 'jan', 'sep', 'dec'])

/** `June`: the nearest one. */
function clearMonthAt({ stems, now, future }: DateContext, at: number): Window | undefined {
  const word = timeWord(stems, at)
  if (word?.is !== 'month' || UNCLEAR_MONTHS.has(stems[at] as string)) return undefined
  const first = new Date(nearest((year) => Date.UTC(year, word.number, 15), now, future))
  return months(first.getUTCFullYear(), word.number, 1)
}

/** `in 2025`. */
function yearAt({ stems }: DateContext, at: number): Window | undefined {
  const year = stems[at] ?? ''
  const before = timeWord(stems, at - 1)
  const isYear = YEAR.test(year) && (before?.is === 'within' || (before?.is === 'unit' && before.unit === 'year'))
  return isYear ? months(Number(year), 0, 12) : undefined
}

/** `on Tuesday`. */
function weekdayAt({ stems, now }: DateContext, at: number): Window | undefined {
  const word = timeWord(stems, at)
  return word?.is === 'weekday' ? days(latestWeekday(word.number, now, 0), 1) : undefined
}

/** The day, week, month … `offset` units after the current one. */
function span(unit: Unit, offset: number, now: number): Window {
  const today = startOfDay(now)
  const date = new Date(now)
  const monday = today - ((date.getUTCDay() + 6) % 7) * DAY
  if (unit === 'day') return days(today + offset * DAY, 1)
  if (unit === 'week') return days(monday + 7 * offset * DAY, 7)
  if (unit === 'weekend') return days(monday + (7 * offset + 5) * DAY, 2)
  if (unit === 'month') return months(date.getUTCFullYear(), date.getUTCMonth() + offset, 1)
  return months(date.getUTCFullYear() + offset, 0, 12)
}

/** The latest such weekday. It may be today, unless the query asks for the last or the next one. */
function latestWeekday(number: number, now: number, offset: number): number {
  const since = (new Date(now).getUTCDay() - number + 7) % 7
  const latest = startOfDay(now) - (since === 0 && offset < 0 ? 7 : since) * DAY
  return offset > 0 ? latest + 7 * DAY : latest
}

/** The latest such month that has begun, or the one before or after it. */
function latestMonth(number: number, now: number, offset: number): Window {
  const date = new Date(now)
  const isPresent = date.getUTCMonth() === number
  const year = date.getUTCFullYear() - (number > date.getUTCMonth() ? 1 : 0)
  if (offset > 0) return months(year + 1, number, 1)
  return months(isPresent && offset < 0 ? year - 1 : year, number, 1)
}

/** The same day in this year or the last. If the future may be meant, the nearest one. */
function nearest(inYear: (year: number) => number, now: number, future: boolean): number {
  const year = new Date(now).getUTCFullYear()
  if (!future) return inYear(year) <= now ? inYear(year) : inYear(year - 1)
  const distance = (time: number) => Math.abs(time - now)
  return [year - 1, year, year + 1].map(inYear).reduce((a, b) => (distance(a) <= distance(b) ? a : b))
}

function days(from: number, count: number): Window {
  return { from, to: from + count * DAY }
}

function months(year: number, first: number, count: number): Window {
  return { from: Date.UTC(year, first, 1), to: Date.UTC(year, first + count, 1) }
}

function startOfDay(time: number): number {
  return Math.floor(time / DAY) * DAY
}
