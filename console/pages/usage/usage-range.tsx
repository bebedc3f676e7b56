import { useState } from 'preact/hooks'
import { param, setParams } from '../../lib/location.ts'
import { fieldTime } from '../../lib/text/format.ts'
import { Field, Segments } from '../../ui/forms/field.tsx'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LENGTHS: Record<string, number> = { '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS }
const MONTH = 'month'
const OWN = 'dates'
const DEFAULT = '30d'
const CHOICES = [
  ...Object.keys(LENGTHS).map((value) => ({ value, label: value })),
  { value: MONTH, label: 'this month' },
  { value: OWN, label: 'dates' },
]

/** Days and months are in the reader's time zone. */
const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone

type Granularity = 'hour' | 'day' | 'month'

export type UsageRange = { from: string; to?: string; granularity: Granularity; timezone: string }

/** The range in the URL: dates, a range that the reader has selected by dragging, or one that ends now. */
export function readUsageRange(): UsageRange {
  const own = ownRange()
  if (own) return rangeOf(own.from, own.to, true)
  const now = Date.now()
  const range = param('range') ?? DEFAULT
  const from = range === MONTH ? new Date(new Date(now).setDate(1)).setHours(0, 0, 0, 0) : now - lengthOf(range)
  return rangeOf(from, now, false)
}

function lengthOf(range: string): number {
  return LENGTHS[range] ?? (LENGTHS[DEFAULT] as number)
}

/** The range consists of whole hours, days or months, so that its sums and its bars cover the same time. */
function rangeOf(from: number, to: number, hasEnd: boolean): UsageRange {
  const days = (to - from) / DAY_MS
  const granularity = days <= 3 ? 'hour' : days <= 120 ? 'day' : 'month'
  const start = beginOf(from, granularity)
  const last = beginOf(to - 1, granularity)
  const end = hasEnd && { to: new Date(nextOf(last, granularity)).toISOString() }
  return { from: new Date(start).toISOString(), ...end, granularity, timezone }
}

/** When the hour, day or month of a time begins, in the reader's time zone. */
function beginOf(time: number, granularity: Granularity): number {
  const date = new Date(time)
  if (granularity === 'hour') return date.setMinutes(0, 0, 0)
  if (granularity === 'month') date.setDate(1)
  return date.setHours(0, 0, 0, 0)
}

export function nextOf(time: number, granularity: Granularity): number {
  const date = new Date(time)
  if (granularity === 'hour') return time + HOUR_MS
  return granularity === 'day' ? date.setDate(date.getDate() + 1) : date.setMonth(date.getMonth() + 1)
}

/** Undefined if the URL contains no dates, or no valid ones. */
function ownRange(): { from: number; to: number } | undefined {
  const [from, to] = [startOf(param('from')), endOf(param('to'))]
  return from < to ? { from, to } : undefined
}

const isDate = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text)

function startOf(text = ''): number {
  return isDate(text) ? new Date(`${text}T00:00`).getTime() : Date.parse(text)
}

/** The last day is included in the range. */
function endOf(text = ''): number {
  if (!isDate(text)) return Date.parse(text)
  const day = new Date(`${text}T00:00`)
  return day.setDate(day.getDate() + 1)
}

/** Stays the same until the reader selects another range. */
export function usageRangeKey(): string {
  return ['range', 'from', 'to'].map((name) => param(name) ?? '').join(' ')
}

export function isOwnRange(): boolean {
  return ownRange() !== undefined
}

export function zoomUsage(from: number, to: number): void {
  setParams({ from: new Date(from).toISOString(), to: new Date(to).toISOString() }, { push: true })
}

/** A date in the form of an input field. */
function dateOf(time: number): string {
  return fieldTime(time).slice(0, 10)
}

export function UsageRangeFilter() {
  const own = ownRange()
  const choose = (range: string) => {
    const now = Date.now()
    const dates = { from: dateOf(now - 6 * DAY_MS), to: dateOf(now) }
    setParams({ range, from: undefined, to: undefined, ...(range === OWN && { range: undefined, ...dates }) }, PUSH)
  }
  return (
    <>
      <Segments label="Time" value={own ? OWN : (param('range') ?? DEFAULT)} choices={CHOICES} onChange={choose} />
      {own && <OwnDates from={dateOf(own.from)} to={dateOf(own.to - 1)} />}
    </>
  )
}

const PUSH = { push: true }
/** While a year is being typed, it is first in the first century. */
const EARLIEST = '2000-01-01'

type Dates = { from: string; to: string }

/**
 * Dates are typed digit by digit. Until they form a range, they stay in the fields and the page shows the last range.
 * Whatever else changes the range in the URL replaces them.
 */
function OwnDates(range: Dates) {
  const [last, setLast] = useState({ dates: range, range })
  const typed = isSame(last.range, range) ? last.dates : range
  const type = (changes: Partial<Dates>) => {
    const dates = { ...typed, ...changes }
    const isRange = dates.from >= EARLIEST && dates.to >= dates.from
    setLast({ dates, range: isRange ? dates : range })
    if (isRange) setParams(dates, PUSH)
  }
  return (
    <div class="dates">
      <Field label="From" type="date" isBare value={typed.from} onInput={(date) => type({ from: date })} />
      –
      <Field label="To" type="date" isBare value={typed.to} onInput={(date) => type({ to: date })} />
      {typed.to < typed.from && (
        <span class="wrong" role="status">
          The last day is before the first.
        </span>
      )}
    </div>
  )
}

function isSame(one: Dates, other: Dates): boolean {
  return one.from === other.from && one.to === other.to
}
