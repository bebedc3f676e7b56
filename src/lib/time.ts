const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/**
 * The years that four digits can express. A time with an offset can be read even if it is slightly outside of them, but
 * couldn't be written again.
 */
const YEAR_0 = -62_167_219_200_000
const YEAR_10000 = 253_402_300_800_000

/**
 * Parses a strict RFC 3339 timestamp with an offset into epoch milliseconds. Returns undefined if it isn't one. `new
 * Date` would accept 30 February.
 */
export function parseTime(text: string): number | undefined {
  const match = RFC_3339.exec(text)
  if (!match) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const daysInMonth = new Date(Date.UTC(2000, month, 0)).getUTCDate()
  const leapDay = month === 2 && day === 29
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth || (leapDay && !isLeapYear(year))) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined

  const milliseconds = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const offsetHours = Number(match[9] ?? 0)
  const offsetMinutes = Number(match[10] ?? 0)
  if (offsetHours > 23 || offsetMinutes > 59) return undefined
  const offset = (match[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * 60_000
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  date.setUTCHours(hour, minute, second, milliseconds)
  const time = date.getTime() - offset
  return time >= YEAR_0 && time < YEAR_10000 ? time : undefined
}

function isLeapYear(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
}

/** The nearest time that four digits can express. Rounded times may be slightly outside. */
export function writableTime(time: number): number {
  return Math.min(Math.max(time, YEAR_0), YEAR_10000 - 1)
}

export function formatTime(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
