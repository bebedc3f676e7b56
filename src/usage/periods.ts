export const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** No clock is changed twice within a week. */
const WEEK_MS = 7 * DAY_MS

export type PeriodLength = 'hour' | 'day' | 'month'

/** From one time up to another, excluding the latter. */
export type Period = { start: number; end: number }

/** The hours, days and months of a place. */
export class TimeZone {
  /** Undefined: UTC. Asking Intl takes a thousand times as long as comparing two numbers. */
  readonly #offsets: Intl.DateTimeFormat | undefined
  /** The offset at the beginning of each week that was asked for, in weeks since 1970. */
  readonly #ofWeeks = new Map<number, number>()

  /** Throws a RangeError if there is no time zone of this name. */
  constructor(name: string) {
    // Most budgets have this one, and each run asks for their periods.
    if (name === 'UTC') return
    const offsets = new Intl.DateTimeFormat('en-US', { timeZone: name, minute: 'numeric', timeZoneName: 'longOffset' })
    if (offsets.resolvedOptions().timeZone !== 'UTC') this.#offsets = offsets
  }

  /** The hour, day or month that contains this time. */
  periodAt(time: number, length: PeriodLength): Period {
    if (length === 'hour') return this.#hourAt(time)
    const date = new Date(time + this.#offsetAt(time))
    const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
    const [first, next] =
      length === 'day'
        ? [midnightOf(year, month, day), midnightOf(year, month, day + 1)]
        : [midnightOf(year, month, 1), midnightOf(year, month + 1, 1)]
    return { start: this.#firstAt(first), end: this.#firstAt(next) }
  }

  /** The periods that overlap the range, in order; one more than `most` if there are more. */
  periodsIn({ start, end }: Period, length: PeriodLength, most: number): Period[] {
    const periods: Period[] = []
    for (let at = start; at < end && periods.length <= most; ) {
      const period = this.periodAt(at, length)
      periods.push(period)
      at = period.end
    }
    return periods
  }

  /** Where clocks are changed by a part of an hour, one hour ends and another begins with the change. */
  #hourAt(time: number): Period {
    const start = time - modulo(time + this.#offsetAt(time), HOUR_MS)
    const end = start + HOUR_MS
    const minutes = this.#minutesAt(time)
    return {
      start: this.#minutesAt(start) === minutes ? start : this.#changeIn(start, time),
      end: this.#minutesAt(end - 1) === minutes ? end : this.#changeIn(time, end - 1),
    }
  }

  /** The part of the offset that is less than an hour. */
  #minutesAt(time: number): number {
    return modulo(this.#offsetAt(time), HOUR_MS)
  }

  /** The first time at which clocks show other minutes. They do at `after`, and don't at `before`. */
  #changeIn(before: number, after: number): number {
    const minutes = this.#minutesAt(before)
    let [low, high] = [before, after]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.#minutesAt(middle) === minutes) low = middle
      else high = middle
    }
    return high
  }

  /** The first time at which clocks there show midnight of that day, or more if they skip it. */
  #firstAt(local: number): number {
    const found = [local - DAY_MS, local + DAY_MS].map((near) => local - this.#offsetAt(near))
    const exact = found.filter((time) => time + this.#offsetAt(time) === local)
    return exact.length > 0 ? Math.min(...exact) : Math.max(...found)
  }

  /** How far clocks there are ahead of UTC. Intl is asked once per week, unless they are changed in it. */
  #offsetAt(time: number): number {
    if (!this.#offsets) return 0
    const week = Math.floor(time / WEEK_MS)
    const offset = this.#offsetOfWeek(week, this.#offsets)
    return offset === this.#offsetOfWeek(week + 1, this.#offsets) ? offset : offsetIn(this.#offsets.format(time))
  }

  #offsetOfWeek(week: number, offsets: Intl.DateTimeFormat): number {
    const known = this.#ofWeeks.get(week)
    if (known !== undefined) return known
    const offset = offsetIn(offsets.format(week * WEEK_MS))
    this.#ofWeeks.set(week, offset)
    return offset
  }
}

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?/

/** As Intl writes it: `GMT`, `GMT+05:45`, and `GMT-04:56:02` before there were time zones. */
function offsetIn(text: string): number {
  const [, sign, hours = 0, minutes = 0, seconds = 0] = OFFSET.exec(text) ?? []
  const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000
  return sign === '-' ? -offset : offset
}

/** As Date.UTC, for years below 100 too. */
function midnightOf(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month, day)
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by
}
