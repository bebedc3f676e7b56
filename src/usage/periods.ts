export const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export type PeriodLength = 'hour' | 'day' | 'month'

/** From one time up to another, which is not in it. */
export type Period = { start: number; end: number }

/** The hours, days and months of a place. */
export class TimeZone {
  readonly #fields: Intl.DateTimeFormat

  /** Throws a RangeError if there is no time zone of this name. */
  constructor(name: string) {
    this.#fields = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  }

  /** The hour, day or month that has this time. */
  periodAt(time: number, length: PeriodLength): Period {
    const local = time + this.#offsetAt(time)
    if (length === 'hour') {
      const start = time - modulo(local, HOUR_MS)
      return { start, end: start + HOUR_MS }
    }
    const date = new Date(local)
    const day = length === 'day' ? date.getUTCDate() : 1
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
    const next = length === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1)
    return { start: this.#firstAt(Date.UTC(year, month, day)), end: this.#firstAt(next) }
  }

  /** The periods that have a part of the range, in order; one more than `most` if there are more. */
  periodsIn({ start, end }: Period, length: PeriodLength, most: number): Period[] {
    const periods: Period[] = []
    for (let at = start; at < end && periods.length <= most; ) {
      const period = this.periodAt(at, length)
      periods.push(period)
      at = period.end
    }
    return periods
  }

  /** The first time at which clocks there show midnight of that day, or more if they skip it. */
  #firstAt(local: number): number {
    const found = [local - DAY_MS, local + DAY_MS].map((near) => local - this.#offsetAt(near))
    const exact = found.filter((time) => time + this.#offsetAt(time) === local)
    return exact.length > 0 ? Math.min(...exact) : Math.max(...found)
  }

  /** What clocks there show more than in UTC. */
  #offsetAt(time: number): number {
    const shown: Record<string, number> = {}
    for (const { type, value } of this.#fields.formatToParts(time)) shown[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) - (time - modulo(time, 1_000))
  }
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by
}
