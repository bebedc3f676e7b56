import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Period, TimeZone } from '../../src/usage/periods.ts'
import { cpuTimeBelow } from '../support/running/cpu-time.ts'
import { onBothEngines } from '../support/service/service.ts'

const HOUR_MS = 3_600_000
const range = (from: string, to: string) => ({ start: Date.parse(from), end: Date.parse(to) })

/** Zones with whole, half and quarter hours, whose clocks change at midnight, for Ramadan, or skipped a day. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Havana',
  'America/Caracas',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Hebron',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Pyongyang',
  'Asia/Tehran',
  'Asia/Beirut',
  'Atlantic/Azores',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Antarctica/Troll',
]

/** Plain and slow: each day begins with the first of its minutes, as Intl shows them. */
function daysIn(zone: string, { start, end }: Period): number[] {
  const shown = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
  const starts: number[] = []
  let [at, date] = [start, shown.format(start)]
  while (at < end) {
    let [low, high] = [at, at + 20 * HOUR_MS]
    if (shown.format(high) === date) low = high
    else {
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2)
        if (shown.format(middle) === date) low = middle
        else high = middle
      }
      starts.push(high)
      date = shown.format(high)
      low = high
    }
    at = low
  }
  return starts.filter((time) => time < end)
}

describe('hours, days and months of a place', () => {
  for (const zone of ZONES) {
    test(`days of ${zone} begin when its calendar shows another date, and months with their first day`, () => {
      const years = range('2010-01-10T00:00:00Z', '2016-12-20T00:00:00Z')
      const place = new TimeZone(zone)
      const days = place.periodsIn(years, 'day', 10_000)
      const starts = days.map(({ start }) => start).filter((start) => start > years.start)
      assert.deepEqual(starts, daysIn(zone, years))
      const firsts = new Intl.DateTimeFormat('en-CA', { timeZone: zone, day: 'numeric' })
      const months = place.periodsIn(years, 'month', 10_000).map(({ start }) => start)
      assert.deepEqual(
        months.slice(1),
        starts.filter((start) => firsts.format(start) === '1'),
      )
    })

    test(`hours of ${zone} neither overlap nor leave anything out`, () => {
      const hours = new TimeZone(zone).periodsIn(range('2025-03-01T00:00:00Z', '2025-11-30T00:00:00Z'), 'hour', 10_000)
      for (const [i, { start, end }] of hours.entries()) {
        assert.ok(end > start && end - start <= HOUR_MS, new Date(start).toISOString())
        if (i > 0) assert.equal(start, hours[i - 1]?.end, new Date(start).toISOString())
      }
    })
  }

  test('clocks that are changed by half an hour begin another hour', () => {
    const back = new TimeZone('Australia/Lord_Howe').periodsIn(
      range('2026-04-04T14:00:00Z', '2026-04-04T16:00:00Z'),
      'hour',
      10,
    )
    assert.deepEqual(
      back.map(({ start, end }) => [start, end].map((time) => new Date(time).toISOString().slice(11, 16))),
      [
        ['14:00', '15:00'],
        ['15:00', '15:30'],
        ['15:30', '16:30'],
      ],
    )
  })

  for (const [length, from] of [
    ['day', '2018-10-01T00:00:00Z'],
    ['day', '1900-01-01T00:00:00Z'],
    ['month', '1800-01-01T00:00:00Z'],
    ['hour', '2026-01-01T00:00:00Z'],
  ] as const) {
    test(`each ${length} since ${from.slice(0, 4)} takes less than 50 ms`, () => {
      const took = cpuTimeBelow(50, () => {
        new TimeZone('Europe/Berlin').periodsIn(range(from, '2026-11-18T00:00:00Z'), length, 3_000)
      })
      assert.ok(took < 50, `${took} ms`)
    })
  }
})

onBothEngines('GET /v1/usage at the ends of time', (service) => {
  for (const [query, from, to] of [
    ['to=9999-12-31T23:59:59Z', '9999-12-01T23:00:00.000Z', '9999-12-31T23:59:59.999Z'],
    ['from=0000-01-01T00:00:00Z&group_by=user', '0000-01-01T00:00:00.000Z', undefined],
    [
      'from=0000-01-01T00:00:00Z&to=0000-01-02T00:00:00Z&granularity=day&timezone=Asia/Tokyo',
      '0000-01-01T00:00:00.000Z',
      undefined,
    ],
    [
      'from=9999-12-31T00:00:00Z&to=9999-12-31T23:00:00Z&granularity=month&timezone=America/New_York',
      undefined,
      '9999-12-31T23:59:59.999Z',
    ],
  ] as const) {
    test(`200 for ${query}`, async () => {
      const { status, text, body } = await service().call('GET', `/v1/usage?${query}`)
      assert.equal(status, 200, text)
      if (from) assert.equal(body.data.from, from)
      if (to) assert.equal(body.data.to, to)
    })
  }
})
