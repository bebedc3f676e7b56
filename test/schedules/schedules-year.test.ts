import assert from 'node:assert/strict'
import { test } from 'node:test'
import { announce } from '../../src/storage/database.ts'
import { inTransaction, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { onTheWall } from '../support/running/wall-clock.ts'
import { ANY_ENGINE, type Service, withService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const WEEK = 7 * 86_400_000
const KEEP_ALL = { MOORAGE_RETENTION__INVOCATIONS: '36500d' }
const ZONES = { 'Europe/Berlin': '02:30', 'America/New_York': '02:30', 'Australia/Lord_Howe': '02:15' }

for (const engine of ANY_ENGINE) {
  test(`a schedule in each of three time zones over the year 2027 on ${engine}`, () =>
    withService(engine, goThroughTheYear, KEEP_ALL))
}

async function goThroughTheYear(service: Service): Promise<void> {
  const goTo = (time: number) => service.advance(time - service.now())
  goTo(Date.parse('2027-01-01T12:00:00Z'))
  await createAgent(service, 'calendar')
  const ids = await createSchedules(service)
  for (let week = 0; week < 52; week++) {
    // On Sunday evening the tick of the night before is made up for.
    const evening = Date.parse('2027-01-03T20:00:00Z') + week * WEEK
    goTo(evening)
    await inTransaction(service, (db) => announce(db, 'schedules'))
    await until(`week ${week}`, () => haveTicked(service, evening))
  }
  for (const [zone, wall] of Object.entries(ZONES)) {
    const ticks = await ticksOf(service, ids.get(zone) as string)
    const shown = ticks.map((time) => onTheWall(time, zone))
    const sundays = Array.from({ length: 52 }, (_, week) =>
      onTheWall(Date.parse('2027-01-03T12:00Z') + week * WEEK, 'UTC'),
    )
    assert.deepEqual(
      shown.map((text) => text.slice(0, 10)),
      sundays.map((text) => text.slice(0, 10)),
    )
    const moved = { 'Europe/Berlin': '03-28 03:00', 'America/New_York': '03-14 03:00' }[zone] ?? '10-03 02:30'
    assert.deepEqual(
      shown.filter((text) => !text.endsWith(wall)),
      [`2027-${moved}`],
    )
  }
}

/** Clocks change on Sundays. */
async function createSchedules(service: Service): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  for (const [timezone, wall] of Object.entries(ZONES)) {
    const cron = `${Number(wall.slice(3))} 2 * * SUN`
    const body = { cron, timezone, message: 'm', overlap: 'queue', catch_up: 'one' }
    const reply = await service.call('POST', '/v1/agents/calendar/schedules', { body })
    assert.equal(reply.status, 201, reply.text)
    ids.set(timezone, reply.body.data.id)
  }
  return ids
}

/** Whether the next tick of every schedule is in the future. */
async function haveTicked(node: Service, now: number): Promise<boolean> {
  const rows = await storeOf(node).selectFrom('schedules').select('next_at').execute()
  return rows.every(({ next_at }) => next_at !== null && next_at > now)
}

async function ticksOf(node: Service, schedule_id: string): Promise<number[]> {
  const rows = await storeOf(node)
    .selectFrom('all_invocations')
    .select('scheduled_at')
    .where('schedule_id', '=', schedule_id)
    .orderBy('scheduled_at')
    .execute()
  return rows.map(({ scheduled_at }) => scheduled_at as number)
}
