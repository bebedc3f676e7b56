import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { periodAt } from '../../src/budgets/budget-period.ts'

const HOUR_MS = 3_600_000
const at = (text: string) => Date.parse(text)
const shown = ({ start, end }: { start: number; end: number | null }) =>
  [start, end].map((time) => time && new Date(time).toISOString())

describe('the period of a budget', () => {
  test('an hour, a day and a month in UTC', () => {
    const time = at('2026-11-16T23:20:30.123Z')
    assert.deepEqual(shown(periodAt('hour', 'UTC', time)), ['2026-11-16T23:00:00.000Z', '2026-11-17T00:00:00.000Z'])
    assert.deepEqual(shown(periodAt('day', 'UTC', time)), ['2026-11-16T00:00:00.000Z', '2026-11-17T00:00:00.000Z'])
    assert.deepEqual(shown(periodAt('month', 'UTC', time)), ['2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'])
    assert.deepEqual(periodAt('ever', 'UTC', time), { start: 0, end: null })
  })

  test('the day on which clocks are put forward has 23 hours, the one on which they are put back 25', () => {
    const spring = periodAt('day', 'Europe/Berlin', at('2026-03-29T10:00:00Z'))
    assert.deepEqual(shown(spring), ['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'])
    const autumn = periodAt('day', 'Europe/Berlin', at('2026-10-25T00:30:00Z'))
    assert.deepEqual(shown(autumn), ['2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'])
  })

  test('a month begins and ends at local midnight, in winter and in summer', () => {
    const month = periodAt('month', 'America/New_York', at('2026-03-31T23:59:59Z'))
    assert.deepEqual(shown(month), ['2026-03-01T05:00:00.000Z', '2026-04-01T04:00:00.000Z'])
    const december = periodAt('month', 'Asia/Tokyo', at('2026-12-31T14:59:59.999Z'))
    assert.deepEqual(shown(december), ['2026-11-30T15:00:00.000Z', '2026-12-31T15:00:00.000Z'])
  })

  test('a day without a midnight begins when the clocks were put forward', () => {
    const day = periodAt('day', 'Africa/Cairo', at('2025-04-25T10:00:00Z'))
    assert.deepEqual(shown(day), ['2025-04-24T22:00:00.000Z', '2025-04-25T21:00:00.000Z'])
  })

  test('a day with two midnights begins with the first', () => {
    const day = periodAt('day', 'America/Havana', at('2025-11-02T10:00:00Z'))
    assert.deepEqual(shown(day), ['2025-11-02T04:00:00.000Z', '2025-11-03T05:00:00.000Z'])
  })

  test('an hour begins at the full hour of the zone', () => {
    const hour = periodAt('hour', 'Asia/Kolkata', at('2026-11-16T23:20:00Z'))
    assert.deepEqual(shown(hour), ['2026-11-16T22:30:00.000Z', '2026-11-16T23:30:00.000Z'])
  })

  test('every time is in its period, and the next period begins where one ends', () => {
    for (const timezone of [
      'Europe/Berlin',
      'America/Sao_Paulo',
      'Africa/Cairo',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
    ]) {
      // Covers each day and month at varying hours.
      for (const [per, step] of [
        ['day', 23 * HOUR_MS],
        ['month', 61 * HOUR_MS],
      ] as const) {
        for (let time = at('2018-01-01T00:00:00Z'); time < at('2019-12-31T00:00:00Z'); time += step) {
          const { start, end } = periodAt(per, timezone, time)
          assert.ok(start <= time && end !== null && time < end, `${timezone} ${per} ${new Date(time).toISOString()}`)
          assert.equal(periodAt(per, timezone, end).start, end, `${timezone} ${per} ${new Date(end).toISOString()}`)
        }
      }
    }
  })
})
