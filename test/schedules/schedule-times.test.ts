import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ApiError } from '../../src/errors.ts'
import { type Due, decideTick, IN_TIME_MS, type Situation } from '../../src/schedules/decide-tick.ts'
import type { Schedule } from '../../src/schedules/schedule.ts'
import { countTicks, listNext, MOST_COUNTED, requireNext, type Timing, timesOf } from '../../src/schedules/times.ts'
import { leastLongestPass } from '../support/running/longest-pass.ts'
import { fc } from '../support/running/property.ts'
import { onTheWall } from '../support/running/wall-clock.ts'

const NONE: Timing = { cron: null, timezone: null, every: null, at: null, anchor_at: 0 }
const MINUTE = 60_000
const DAY = 86_400_000
const START = Date.parse('2026-01-01T00:00:00Z')

/** Every tick from one time to another. */
async function ticksOf(timing: Timing, from: number, to: number): Promise<number[]> {
  const times = await timesOf(timing)
  const ticks: number[] = []
  for (let time = times.next(from); time !== null && time < to; time = times.next(time)) ticks.push(time)
  return ticks
}

describe('a year of ticks', () => {
  const zones = [
    { zone: 'Europe/Berlin', cron: '30 2 * * *', wall: '02:30', spring: '2026-03-29 03:00', autumn: '2026-10-25' },
    { zone: 'America/New_York', cron: '30 1 * * *', wall: '01:30', spring: undefined, autumn: '2026-11-01' },
    { zone: 'America/New_York', cron: '15 2 * * *', wall: '02:15', spring: '2026-03-08 03:00', autumn: '2026-11-01' },
    // Its clocks change by half an hour, and in October they go forward.
    {
      zone: 'Australia/Lord_Howe',
      cron: '15 2 * * *',
      wall: '02:15',
      spring: '2026-10-04 02:30',
      autumn: '2026-04-05',
    },
  ]
  for (const { zone, cron, wall, spring, autumn } of zones) {
    test(`${cron} in ${zone}: once each day, at that time of the clock on the wall`, async () => {
      const ticks = await ticksOf({ ...NONE, cron, timezone: zone }, START, START + 365 * DAY)
      const shown = ticks.map((time) => onTheWall(time, zone))
      assert.equal(new Set(shown.map((text) => text.slice(0, 10))).size, 365)
      assert.equal(shown.length, 365)
      assert.deepEqual(
        shown.filter((text) => !text.endsWith(wall)),
        spring ? [spring] : [],
      )
      assert.equal(shown.filter((text) => text.startsWith(autumn)).length, 1)
    })

    test(`*/30 * * * * in ${zone}: every half hour, also when the clocks change`, async () => {
      for (const change of [spring ?? autumn, autumn]) {
        const day = Date.parse(change.slice(0, 10))
        const ticks = await ticksOf({ ...NONE, cron: '*/30 * * * *', timezone: zone }, day - DAY, day + 2 * DAY)
        const gaps = new Set(ticks.slice(1).map((time, i) => time - (ticks[i] as number)))
        assert.deepEqual([...gaps], [30 * MINUTE])
      }
    })
  }
})

describe('the ticks of a schedule', () => {
  const field = (least: number, most: number) =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min: least, max: most }).map(String),
      fc.integer({ min: 2, max: 15 }).map((step) => `*/${Math.min(step, most)}`),
    )
  const timing: fc.Arbitrary<Timing> = fc.oneof(
    fc
      .record({
        minute: field(0, 59),
        hour: field(0, 23),
        day: field(1, 28),
        weekday: field(0, 6),
        timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'),
      })
      .map(({ minute, hour, day, weekday, timezone }) => {
        return { ...NONE, cron: `${minute} ${hour} ${day} * ${weekday}`, timezone }
      }),
    fc.integer({ min: 1, max: 5_000 }).map((minutes) => ({ ...NONE, every: `${minutes}m`, anchor_at: START })),
  )
  const time = fc.integer({ min: START, max: START + 365 * DAY })

  test('come one after the other, and the latest up to each of them is itself', () =>
    fc.assert(
      fc.asyncProperty(timing, time, async (given, after) => {
        const times = await timesOf(given)
        if (given.cron !== null) assert.equal(await requireNext(given, after), times.next(after))
        let last = after
        for (const tick of await listNext(given, after, 5)) {
          assert.ok(tick > last)
          assert.equal(tick % MINUTE, 0)
          assert.equal(times.latest(tick), tick)
          assert.equal(times.latest(tick + 999), tick)
          assert.equal(times.next(tick - 1), tick)
          if (last !== after) assert.equal(times.latest(tick - 1), last)
          last = tick
        }
      }),
      { numRuns: 300 },
    ))

  test('are counted while others have their turns', async () => {
    const times = await timesOf({ ...NONE, cron: '* * * * *', timezone: 'Europe/Berlin' })
    let turns = 0
    let isCounting = true
    const take = () => {
      turns++
      if (isCounting) setImmediate(take)
    }
    setImmediate(take)
    await countTicks(times, START, START + 365 * DAY)
    isCounting = false
    assert.ok(turns >= MOST_COUNTED / 10, `${turns} turns`)
  })

  test('are counted up to a limit', async () => {
    const times = await timesOf({ ...NONE, cron: '* * * * *', timezone: 'UTC' })
    assert.equal(await countTicks(times, START, START), 1)
    assert.equal(await countTicks(times, START, START + 10 * MINUTE), 11)
    assert.equal(await countTicks(times, START, START + 365 * DAY), MOST_COUNTED)
  })
})

describe('times that are refused', () => {
  const refused = async (timing: Partial<Timing>) => {
    const error = await requireNext({ ...NONE, ...timing }, START).then(
      () => assert.fail('it is not refused'),
      (err: ApiError) => err,
    )
    return error.details?.map(({ field, error: why }) => `${field} ${why}`).join()
  }
  const UNKNOWN = /^cron can't contain/
  const CASES: [Partial<Timing>, RegExp][] = [
    [{ cron: '* * * * * *' }, /^cron must have five fields/],
    [{ cron: '* * * *' }, /^cron must have five fields/],
    [{ cron: '61 * * * *' }, /^cron is not a valid cron expression: Invalid value for minute: 61/],
    [{ cron: '? * * * *' }, /^cron must have five fields/],
    [{ cron: '@reboot' }, /^cron is not a valid cron expression/],
    [{ cron: '2027-01-01T00:00:00' }, /^cron must have five fields/],
    [{ cron: '0 0 30 2 *' }, /^cron never matches/],
    [{ cron: '0 0 31 * +MON#1,TUE#1,WED#1,THU#1,FRI#1,SAT#1,SUN#1' }, UNKNOWN],
    [{ cron: '0 0 +13 * FRI' }, UNKNOWN],
    [{ cron: '0 0 15W * *' }, UNKNOWN],
    [{ cron: '0 0 LW * *' }, UNKNOWN],
    [{ cron: '0 0 15L * *' }, UNKNOWN],
    [{ cron: '0 0 * * FRI#L' }, UNKNOWN],
    [{ cron: '0 0 * * 5l' }, UNKNOWN],
    [{ cron: '0 0 * * *', timezone: 'Mars/Olympus' }, /^timezone must be an IANA time zone/],
    [{ every: '1h', timezone: 'Europe/Berlin' }, /^timezone can only be used with `cron`/],
    [{ every: '59s' }, /^every must be at least 1m/],
    [{ every: '367d' }, /^every must be at most 366d/],
    [{ at: START }, /^at must be in the future/],
  ]
  for (const [timing, why] of CASES) {
    test(JSON.stringify(timing), async () => assert.match((await refused(timing)) ?? '', why))
  }

  const KNOWN = [
    '0 9 * * MON-FRI',
    '@daily',
    '*/5 8-18 1,15 JAN-JUN *',
    '0 0 L * *',
    '0 0 1,l JUL,APR *',
    '0 9 * * FRI#2',
  ]
  for (const cron of KNOWN) {
    test(`${cron} is not`, async () => {
      assert.ok((await requireNext({ ...NONE, cron, timezone: 'Europe/Berlin' }, START)) > START)
    })
  }

  test('what comes once in decades is not', async () => {
    const timing = { ...NONE, cron: '0 0 * 2 FRI#5', timezone: 'UTC' }
    assert.equal(await requireNext(timing, START), Date.parse('2036-02-29'))
    // 2100 is no leap year.
    const thursday = { ...timing, cron: '0 0 * 2 THU#5' }
    assert.equal(await requireNext(thursday, Date.parse('2080-02-29')), Date.parse('2120-02-29'))
  })
})

describe('times that are rare or never come take turns with others', () => {
  const MOST_MS = 50
  const CASES: [string, string][] = [
    // The hour that clocks leave out there on that day, every year.
    ['* 2 * 3 SUN#2', 'America/New_York'],
    ['* 1,2 * 3 SUN#5', 'Antarctica/Troll'],
    ['* * 31 2,4,6,9,11 *', 'Europe/Berlin'],
    ['* * 30 2 *', 'UTC'],
    // The same, but for years in which the first Sunday is the first day of the month.
    ['* 0 * 9 SUN#1', 'America/Santiago'],
    ['0 0 * 2 FRI#5', 'Europe/Berlin'],
    ['0 0 29 2 *', 'Europe/Berlin'],
    ['59 23 L 2 *', 'Europe/Berlin'],
  ]
  for (const [cron, timezone] of CASES) {
    test(`${cron} in ${timezone}`, async () => {
      const timing = { ...NONE, cron, timezone }
      const look = async () => {
        const next = await requireNext(timing, START).catch((error: ApiError) => {
          assert.match(String(error.details?.[0]?.error), /^never matches/)
        })
        if (next) await listNext(timing, next - 1, 5)
      }
      const took = await leastLongestPass(look)
      assert.ok(took < MOST_MS, `${took} ms`)
    })
  }
})

describe('what comes of a tick', () => {
  const due: Due = {
    ...NONE,
    every: '10m',
    anchor_at: START,
    next_at: START + 10 * MINUTE,
    overlap: 'skip',
    catch_up: 'none',
    enabled: true,
    disabled_reason: null,
    parked: false,
    missed: 0,
    skipped: 0,
    updated_by: 'key_1',
  } as Partial<Schedule> as Due
  const decide = async (late: number, changes: Partial<Due> = {}, situation: Partial<Situation> = {}) => {
    const schedule = { ...due, ...changes }
    const times = await timesOf(schedule)
    const now = schedule.next_at + late
    const usual = { key: 'active', isAgentPaused: false, isProjectFull: false, isBusy: false } as const
    return decideTick(schedule, { now, times, ...usual, ...situation })
  }
  const at = (minutes: number) => START + minutes * MINUTE

  test('it begins a run, up to a minute late', async () => {
    for (const late of [0, IN_TIME_MS]) {
      const { after, runs_for, told } = await decide(late)
      assert.deepEqual([runs_for, after.next_at, after.missed, told], [at(10), at(20), 0, []])
    }
  })

  test('later it is missed, and reported as missed', async () => {
    const { after, runs_for, told } = await decide(25 * MINUTE)
    assert.equal(runs_for, undefined)
    assert.deepEqual(
      [after.next_at, after.missed, after.last_missed_at, after.last_missed_reason],
      [at(40), 3, at(30), 'late'],
    )
    assert.deepEqual(
      told.map(({ level, message }) => [level, message]),
      [['warn', 'Schedule missed 3 runs: no node was available in time']],
    )
  })

  test('the tick that is on time starts a run, and earlier ones are missed', async () => {
    const { after, runs_for } = await decide(20 * MINUTE + 5)
    assert.deepEqual([runs_for, after.next_at, after.missed, after.last_missed_at], [at(30), at(40), 2, at(20)])
  })

  test('catch_up: one run makes up for all that were missed', async () => {
    const { after, runs_for } = await decide(25 * MINUTE, { catch_up: 'one' })
    assert.deepEqual([runs_for, after.next_at, after.missed, after.last_missed_at], [at(30), at(40), 2, at(20)])
  })

  test('one after the other in the queue, or not while an earlier run continues', async () => {
    const skipped = await decide(0, {}, { isBusy: true })
    assert.deepEqual([skipped.runs_for, skipped.after.skipped, skipped.after.last_skipped_at], [undefined, 1, at(10)])
    assert.equal(skipped.told.length, 1)
    assert.equal((await decide(0, { overlap: 'queue' }, { isBusy: true })).runs_for, at(10))
  })

  test("a paused agent's ticks are missed, and not made up for later", async () => {
    const parked = await decide(0, {}, { isAgentPaused: true })
    assert.deepEqual([parked.runs_for, parked.after.parked, parked.after.next_at], [undefined, true, at(10)])
    const resumed = await decide(21 * MINUTE, { parked: true, catch_up: 'one' })
    assert.equal(resumed.runs_for, undefined)
    const { next_at, missed, last_missed_reason, parked: isParked } = resumed.after
    assert.deepEqual([next_at, missed, last_missed_reason, isParked], [at(40), 3, 'agent_paused', false])
  })

  test('a key that has ended disables the schedule', async () => {
    const { after, runs_for, told } = await decide(0, {}, { key: 'revoked' })
    const { enabled, disabled_reason, next_at } = after
    assert.deepEqual([runs_for, enabled, disabled_reason, next_at], [undefined, false, 'key_revoked', null])
    assert.equal(told[0]?.level, 'error')
  })

  test('after its only tick there is no other', async () => {
    const once = { every: null, at: at(10) }
    const { after, runs_for } = await decide(3, once)
    assert.deepEqual([runs_for, after.next_at], [at(10), null])
    assert.deepEqual((await decide(DAY, once)).after.missed, 1)
    assert.deepEqual((await decide(DAY, { ...once, catch_up: 'one' })).runs_for, at(10))
  })
})
