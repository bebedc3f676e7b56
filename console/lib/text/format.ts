const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' })
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const count = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })
const cents = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', maximumSignificantDigits: 3 })

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

const KILOBYTES: [string, number] = ['KB', 1_000]
const SIZES: [string, number][] = [KILOBYTES, ['MB', 1_000_000], ['GB', 1_000_000_000]]

/** How much the clocks of the service and the browser may differ. */
const CLOCKS_DIFFER_MS = 5_000

/** `5m ago`, `in 2h`, or `just now` for less than a minute. */
export function agoText(time: string, now: number): string {
  const ms = Date.parse(time) - now
  for (const [unit, size] of UNITS) {
    if (Math.abs(ms) >= size) return relative.format(Math.trunc(ms / size), unit)
  }
  return ms > CLOCKS_DIFFER_MS ? 'in a moment' : 'just now'
}

export function exactText(time: string | number): string {
  return exact.format(new Date(time))
}

/** A time in the given time zone, to the minute: `Thu, 19 Nov 2026, 09:00`. */
export function zonedText(time: string | Date, timeZone: string): string {
  const day = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const
  return new Date(time).toLocaleString('en-GB', { ...day, hour: '2-digit', minute: '2-digit', timeZone })
}

/** The time of day with milliseconds, for log lines. */
export function clockText(time: string): string {
  return clock.format(Date.parse(time))
}

/** A time in the form of an input field, in the reader's time zone, to the minute. */
export function fieldTime(time: number): string {
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** A time that rounds up to the next unit is shown in that unit: `1 min 0 s`, not `60.0 s`. */
export function durationText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_995 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function countText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : count.format(value)
}

/** `1 turn`, `2 turns`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${countText(value)} ${value === 1 ? one : many}`
}

/**
 * Dollars. Amounts below one dollar have three significant digits, because a call costs less than a cent. An unknown
 * price isn't zero.
 */
export function usdText(value: number | null): string {
  if (value === null) return 'no price'
  if (value === 0) return '$0'
  return (value < 0.995 ? cents : dollars).format(value)
}

/** `512 bytes`, `1.2 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, 'byte')
  const unit = SIZES.toReversed().find(([, size]) => bytes >= size * 0.9995) ?? KILOBYTES
  return `${count.format(Number((bytes / unit[1]).toPrecision(3)))} ${unit[0]}`
}

/** `12.3K`, for places that are too narrow for the whole number. */
export function shortText(value: number): string {
  return short.format(value)
}

/** Shows 100% only for all of it, and 0% only for nothing. */
export function percentText(part: number, whole: number): string {
  if (whole === 0) return '–'
  const percent = (100 * part) / whole
  if (percent === 0) return '0%'
  if (percent < 10) return `${Math.max(percent, 0.01).toFixed(percent < 0.1 ? 2 : 1)}%`
  return `${percent < 100 ? Math.min(Math.round(percent), 99) : Math.round(percent)}%`
}
